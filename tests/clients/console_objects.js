// Drives the pages of the configuration in a real browser: forms made from the schema, a look at the difference,
// conflicts, history, tokens, the audit log, and what each role sees. Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_objects.js STEPS BASE TOKEN SCREENSHOTS OPERATOR-ADDRESS

'use strict';

const assert = require('node:assert');
const fs = require('node:fs/promises');
const { accessible, clicks, console: consoleAt, key, openKind, openNew, row, run, save, settled } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots, address] = process.argv.slice(2);
const { open, signIn, go, visit, look } = consoleAt({ base, token, screenshots });
const KINDS = ['accounts', 'operators', 'routes', 'lists', 'limits', 'policies', 'mo_rules', 'gsm', 'number_ranges', 'event_sinks', 'nats_sources'];
/** What would run if any page took a text for markup. */
const ATTACK = '<img src=x onerror="window.taken=1"><script>window.taken=1</script>';

const said = (page, text) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
const problem = (page, name, text) => page.locator(`[data-key="${name}"] .problem`).filter({ hasText: text }).waitFor();

const all = {
  /** From nothing to a message that was delivered. */
  async a_message_goes_through_a_new_account_and_operator(browser) {
    const page = await open(browser);
    await signIn(page);
    const count = await clicks(page);
    const began = Date.now();
    await go(page, 'Operators');
    await page.getByRole('link', { name: 'Add an operator' }).click();
    await key(page, 'id').fill('fresh');
    await key(page, 'address').fill(address);
    await key(page, 'system_id').fill('smsc');
    await key(page, 'password').fill('secret');
    const difference = await save(page, 'fresh');
    assert(difference.includes(address) && difference.includes('a secret') && !difference.includes('secret\nsecret'), difference);
    await page.getByRole('link', { name: 'Add a route to it' }).click();
    await key(page, 'prefix').fill('4479');
    assert.strictEqual(await key(page, 'to').inputValue(), 'fresh');
    await save(page, '4479');
    await openNew(page, 'Accounts', 'Add account');
    await key(page, 'system_id').fill('shop');
    await page.getByRole('button', { name: 'Generate' }).click();
    assert.match(await key(page, 'password').inputValue(), /^[A-Za-z0-9]{8}$/);
    await save(page, 'shop');
    await page.getByRole('link', { name: 'Send a test message' }).click();
    await page.getByLabel('From').fill('SHOP');
    await page.getByLabel('To number').fill('447911123456');
    await page.getByLabel('Text').fill('hello');
    // The accounts are asked for when the form is there.
    await page.getByLabel('Account').locator('option:checked[value="shop"]').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('listitem').filter({ hasText: 'DELIVERED' }).waitFor();
    report('task', { name: 'account and operator', clicks: await count(), ms: Date.now() - began });
    await page.close();
  },

  /** A route without a name is called by its conditions: changing them makes another one of it. */
  async route_without_a_name_is_moved(browser) {
    const page = await open(browser);
    await signIn(page);
    await visit(page, 'config/routes?new=1&prefix=4420&to=test:delivered');
    await save(page, '4420');
    await page.getByRole('heading', { name: '4420', level: 1 }).waitFor();
    await key(page, 'prefix').fill('4421');
    assert.match(await save(page, '4421'), /routes\/4421 added[^]*routes\/4420 removed/);
    await page.getByRole('heading', { name: '4421', level: 1 }).waitFor();
    await openKind(page, 'Routes');
    await row(page, '4421').waitFor();
    assert.strictEqual(await row(page, '4420').count(), 0);
    await page.close();
  },

  async errors_stand_beside_their_keys(browser) {
    const page = await open(browser, { expected: /status of 422/ });
    await signIn(page);
    await visit(page, 'config/accounts/test');
    // A key is found by a word; only what is set can be shown.
    await page.getByLabel('Find a key').fill('duplicate');
    await key(page, 'duplicate_window').waitFor();
    assert(!await key(page, 'max_binds').isVisible());
    await key(page, 'duplicate_window').fill('2 fortnights');
    await page.getByLabel('Find a key').fill('');
    await key(page, 'max_binds').fill('many');
    await key(page, 'callback_url').evaluate((one) => { one.closest('details').open = true; });
    await key(page, 'callback_url').fill('nowhere');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await problem(page, 'max_binds', 'whole number');
    await problem(page, 'duplicate_window', '"30s"');
    // The fold with the error is open, and the first of them has the focus.
    assert(await key(page, 'duplicate_window').isVisible());
    assert.strictEqual(await page.evaluate(() => document.activeElement.name), 'key.max_binds');
    await accessible(page, 'errors');
    await look(page, 'config-errors');
    // What needs the rest of the configuration is found in the second look.
    await key(page, 'max_binds').fill('7');
    await key(page, 'duplicate_window').fill('2m');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await problem(page, 'callback_url', /./);
    await key(page, 'callback_url').fill('');
    const difference = await save(page, 'test');
    assert.match(difference, /duplicate_window\s+0s → 2m/);
    assert.match(difference, /max_binds\s+\d+ → 7/);
    // The default is the placeholder of an empty field, and its sentence is below.
    assert.strictEqual(await key(page, 'priority_max').getAttribute('placeholder'), '3');
    await page.close();
  },

  /** A password is replaced and never shown. */
  async password_is_rotated(browser) {
    const page = await open(browser);
    await signIn(page);
    const count = await clicks(page);
    const began = Date.now();
    await go(page, 'Operators');
    await page.getByRole('link', { name: 'Settings of up' }).click();
    await page.getByRole('button', { name: 'Change password' }).click();
    assert(await key(page, 'password').evaluate((one) => one === document.activeElement));
    await page.keyboard.type('n3wpass');
    const difference = await save(page, 'up');
    assert.match(difference, /password\s+a secret → a secret/);
    report('task', { name: 'password of an operator', clicks: await count(), ms: Date.now() - began });
    await page.getByText('Not shown. It stays as it is.').waitFor();
    assert(!(await page.content()).includes('n3wpass'));
    await page.close();
  },

  /** The bad version of one route is taken back, and a later change of another stays. */
  async bad_route_is_restored(browser) {
    const page = await open(browser);
    await signIn(page);
    await visit(page, 'config/routes/default');
    await key(page, 'to').fill('test:failed');
    await save(page, 'default');
    await visit(page, 'config/accounts/test');
    await key(page, 'window').fill('23');
    await save(page, 'test');
    const count = await clicks(page);
    const began = Date.now();
    await openKind(page, 'Routes');
    await row(page, 'default').getByRole('link', { name: 'default' }).click();
    await page.locator('.versions').getByText('test:failed').first().waitFor();
    await page.getByRole('button', { name: /^Restore version/ }).first().click();
    const dialog = page.getByRole('dialog');
    assert.match(await dialog.locator('.review').innerText(), /to\s+test:failed → up/);
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await said(page, 'default is what it was in version');
    report('task', { name: 'roll back a route', clicks: await count(), ms: Date.now() - began });
    await visit(page, 'config/accounts/test');
    await key(page, 'window').waitFor();
    assert.strictEqual(await key(page, 'window').inputValue(), '23');
    await page.close();
  },

  /** Two people change one account: nothing is lost. */
  async conflict_is_shown_and_solved(browser) {
    const page = await open(browser, { expected: /status of 412/ });
    await signIn(page);
    const other = await open(browser);
    await signIn(other);
    for (const one of [page, other]) {
      await visit(one, 'config/operators/up');
      await key(one, 'window').waitFor();
    }
    await key(other, 'rate').fill('40');
    await save(other, 'up');
    await key(page, 'window').fill('31');
    await page.getByRole('button', { name: 'Review changes' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'Somebody else has changed up meanwhile' });
    await alert.getByText('40', { exact: true }).waitFor();
    await alert.getByText(/by admin|by configured|from 127/).first().waitFor();
    await accessible(page, 'conflict');
    await look(page, 'config-conflict');
    await alert.getByRole('button', { name: 'Take theirs, keep my changes' }).click();
    const difference = await save(page, 'up');
    assert.match(difference, /window\s+\S+ → 31/);
    assert(!difference.includes('rate'), difference);
    assert.strictEqual(await key(page, 'rate').inputValue(), '40');
    await other.close();
    await page.close();
  },

  async versions_are_compared_and_restored(browser) {
    const page = await open(browser, { expected: /status of 404/ });
    await signIn(page);
    await go(page, 'History');
    await page.getByRole('link', { name: 'Version 1', exact: true }).waitFor();
    const newest = await page.locator('tbody tr').first().getByRole('link').innerText();
    await page.locator('tbody tr').first().getByRole('link').click();
    await page.getByRole('heading', { name: newest, level: 1 }).waitFor();
    await page.getByLabel('Compare with version').fill('1');
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByText('Different from version 1').waitFor();
    await page.locator('.difference').first().waitFor();
    await accessible(page, 'a version');
    await look(page, 'version-compared');
    await page.getByLabel('Compare with version').fill('9999');
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByText('there is no version 9999').waitFor();
    await visit(page, 'versions/1');
    await page.getByRole('button', { name: 'Roll back to this version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await said(page, 'is what version 1 was');
    await page.close();
  },

  /** The configuration as one document: kept, put in place with a change, and refused where it is wrong. */
  async whole_configuration_is_kept_and_replaced(browser) {
    const page = await open(browser, { expected: /status of 422/ });
    await signIn(page);
    await go(page, 'History');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    assert.match(download.suggestedFilename(), /^smsc-config-\d+\.json$/);
    const kept = await fs.readFile(await download.path(), 'utf8');
    const put = (name, text) => page.locator('input[name="whole"]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    await put('same.json', kept);
    await said(page, 'same.json is what there is');
    await put('cut.json', kept.slice(0, 100));
    await page.getByRole('alert').filter({ hasText: 'cut.json is no JSON' }).waitFor();
    const changed = JSON.parse(kept);
    changed.accounts.find((one) => one.system_id === 'test').windo = 3;
    await put('wrong.json', JSON.stringify(changed));
    await page.getByRole('alert').filter({ hasText: 'did you mean window?' }).waitFor();
    const right = JSON.parse(kept);
    right.accounts.find((one) => one.system_id === 'test').window = 47;
    await put('right.json', JSON.stringify(right));
    const dialog = page.getByRole('dialog', { name: 'Replace the configuration by right.json?' });
    assert.match(await dialog.locator('.review').innerText(), /window\s+\S+ → 47/);
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await said(page, 'right.json is version');
    await page.getByRole('row').filter({ hasText: 'account test changed' }).first().waitFor();
    await look(page, 'config-replaced');
    // What was done leads to the version that it made.
    await visit(page, 'audit?path=/v1/config');
    const entry = page.getByRole('row').filter({ hasText: 'replace the whole configuration' }).first();
    await entry.getByRole('link', { name: /^Version \d/ }).click();
    await page.waitForURL(/#\/versions\/\d+$/);
    await page.close();
  },

  /** A colleague gets a token that may look, and sees no button of what it may not do. */
  async token_is_given_to_a_colleague(browser) {
    const page = await open(browser, { expected: /status of 400/ });
    await signIn(page);
    await go(page, 'Tokens');
    await page.getByLabel('Name').fill('not a name');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').filter({ hasText: 'letters, digits' }).waitFor();
    const count = await clicks(page);
    const began = Date.now();
    await go(page, 'Tokens');
    await page.getByLabel('Name').fill('colleague');
    await page.getByRole('button', { name: 'Create' }).click();
    const secret = await page.locator('.secret').textContent();
    report('task', { name: 'read token', clicks: await count(), ms: Date.now() - began });
    await page.getByRole('button', { name: 'I have it' }).click();
    assert(!(await page.content()).includes(secret));
    await row(page, 'colleague').getByText('read', { exact: true }).waitFor();
    const theirs = await open(browser);
    await signIn(theirs, secret);
    await theirs.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    for (const name of ['Tokens', 'API keys', 'Audit log']) assert.strictEqual(await theirs.getByRole('link', { name, exact: true }).count(), 0, name);
    for (const view of ['queues', 'operators', 'gsm', 'config/accounts', 'config/accounts/test', 'config/routes/default', 'routes', 'mo-rules', 'number-plan', 'event-sinks', 'nats-sources', 'versions', 'versions/1', 'subscribers', 'callbacks']) {
      await visit(theirs, view);
      await theirs.locator('.card:visible').first().waitFor();
      await settled(theirs);
      const dead = await theirs.locator('main button:visible, main a.button:visible').evaluateAll((list) => list.filter((one) => one.disabled || one.getAttribute('aria-disabled') || /Add|Save|Review|Remove|Restore|Roll|Suspend|Purge|Put|Take|Erase|Forget|\bUp\b|\bDown\b/.test(one.textContent)).map((one) => one.textContent));
      assert.deepStrictEqual(dead, [], view);
    }
    await visit(theirs, 'config/accounts/test');
    await theirs.getByRole('heading', { name: 'Settings' }).waitFor();
    await look(theirs, 'config-read-only');
    await visit(theirs, 'tokens');
    await theirs.getByText('Not for this token').waitFor();
    await theirs.close();
    report('token', { secret });
    await row(page, 'colleague').getByRole('button', { name: 'Revoke colleague' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the token' }).click();
    await said(page, 'colleague is revoked');
    await go(page, 'Audit log');
    await page.getByLabel('Path').fill('/v1/tokens');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('DELETE /v1/tokens/colleague').waitFor();
    await page.getByText('remove token colleague').waitFor();
    await page.getByText('token colleague, role read').waitFor();
    await accessible(page, 'audit log');
    await look(page, 'audit');
    await page.close();
  },

  /** Whatever people write is text on every page. */
  async texts_are_no_markup(browser) {
    const page = await open(browser, { expected: /status of 4/ });
    await signIn(page);
    await openNew(page, 'MO rules', 'Add MO rule');
    await key(page, 'name').fill('attack');
    await key(page, 'to').fill('777');
    await key(page, 'reply').fill(ATTACK);
    await key(page, 'reply_account').fill('test');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('dialog').getByText(ATTACK).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await said(page, 'attack is saved');
    await openNew(page, 'Lists', 'Add list');
    await key(page, 'name').fill(ATTACK);
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.locator('.problem, [role=alert]').filter({ hasText: /letters|digits|name/ }).first().waitFor();
    for (const view of ['config/mo_rules', 'config/mo_rules/attack', 'mo-rules', 'versions', `config/accounts/${encodeURIComponent(ATTACK)}`, `config/${encodeURIComponent(ATTACK)}`, `versions/${encodeURIComponent(ATTACK)}`, encodeURIComponent(ATTACK), `subscribers?number=${encodeURIComponent(ATTACK)}`, `audit?token=${encodeURIComponent(ATTACK)}`, `config/accounts?find=${encodeURIComponent(ATTACK)}`, `config/routes?new=1&to=${encodeURIComponent(ATTACK)}`]) {
      await visit(page, view);
      await page.locator('.card:visible').first().waitFor();
      await settled(page);
      assert.strictEqual(await page.locator('img[src="x"]').count(), 0, view);
      assert.strictEqual(await page.evaluate(() => window.taken), undefined, view);
    }
    await visit(page, 'nothing/here');
    await page.getByText('There is no page “nothing/here”').waitFor();
    await page.getByRole('link', { name: 'Go to the overview.' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await visit(page, '%E0%A4%A');
    await page.getByText('There is no page').waitFor();
    await page.close();
  },

  /** What somebody has to know of an account or operator stands on its page. */
  async notes_are_written_and_removed(browser) {
    const page = await open(browser);
    await signIn(page);
    for (const place of ['accounts/test', 'operators/up']) {
      await visit(page, `config/${place}`);
      await page.getByLabel('Write a note').fill(`ask Ann first ${ATTACK}`);
      await page.getByRole('button', { name: 'Add note' }).click();
      const note = page.getByRole('listitem').filter({ hasText: `ask Ann first ${ATTACK}` });
      await note.getByText('admin token').waitFor();
      assert.strictEqual(await page.evaluate(() => window.taken), undefined);
      await note.getByRole('button', { name: 'Remove the note' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByText('There are none.').waitFor();
    }
    await page.close();
  },

  async opt_outs_and_balances_are_changed(browser) {
    const page = await open(browser, { expected: /status of 400/ });
    await signIn(page);
    await go(page, 'Subscribers');
    await page.getByLabel('Number', { exact: true }).fill('nobody');
    await page.getByRole('button', { name: 'Put on the list' }).click();
    await page.getByRole('alert').filter({ hasText: 'digits' }).waitFor();
    await page.getByLabel('Number', { exact: true }).fill('+447700900123');
    await page.getByRole('button', { name: 'Put on the list' }).click();
    await row(page, '447700900123').getByText('everybody', { exact: true }).waitFor();
    await look(page, 'subscribers');
    await page.getByRole('button', { name: /^Take 447700900123 off/ }).click();
    await page.getByRole('dialog').getByLabel('Why, for the audit log').fill('called us on Monday');
    await page.getByRole('dialog').getByRole('button', { name: 'Take off' }).click();
    await said(page, 'may get messages again');
    await visit(page, 'audit?path=/v1/opt-outs/');
    await page.getByText('the list for all accounts: called us on Monday').waitFor();
    await visit(page, 'config/accounts/test');
    await page.getByLabel('Credits to add').fill('1,000');
    await page.getByLabel('Reference (optional)').fill('invoice 7');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await said(page, 'test has 1,000 credits');
    await page.getByText('+1,000').waitFor();
    await page.close();
  },

  /** A form that nobody has touched changes nothing, whatever is set; lists, tables and their rows can be changed. */
  async forms_keep_everything(browser) {
    const page = await open(browser);
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const whole = await page.evaluate(async () => {
      const answer = await fetch('/v1/config', { headers: { Authorization: `Bearer ${sessionStorage.getItem('smsc.token')}` } });
      return answer.json();
    });
    for (const kind of KINDS) {
      for (const one of whole[kind]) {
        const name = one[{ accounts: 'system_id', operators: 'id' }[kind] ?? 'name'] ?? (kind === 'policies' ? 'all' : 'default');
        await visit(page, `config/${kind}/${name}`);
        await page.getByRole('heading', { name: kind === 'policies' ? 'Policy' : name, level: 1 }).waitFor();
        await page.getByRole('button', { name: 'Review changes' }).click();
        await said(page, 'Nothing is changed.');
        await page.locator('.toast').first().evaluate((toast) => toast.remove());
        assert.strictEqual(await page.locator('.form-end .quiet').innerText(), 'Nothing is changed', `${kind}/${name}`);
      }
    }
    await visit(page, 'config/accounts/rich');
    for (const one of ['prices', 'rewrite_in']) await page.locator(`[data-key="${one}"]`).evaluate((element) => { element.closest('details').open = true; });
    await key(page, 'prices').fill('default = 2\n4477 = 5\n49 = 1');
    const rules = page.locator('[data-key="rewrite_in"]');
    await rules.getByRole('button', { name: 'Add one' }).click();
    await rules.locator('fieldset').nth(1).locator('[data-key="field"] select').selectOption('destination');
    await rules.locator('fieldset').nth(1).locator('[data-key="add"] input').fill('44');
    await rules.locator('fieldset').nth(1).getByRole('button', { name: 'Up' }).click();
    const difference = await save(page, 'rich');
    assert.match(difference, /prices\s+4477 = 3; default = 2 → 49 = 1; 4477 = 5; default = 2/);
    assert.match(difference, /rewrite_in\s[^]*→ add = 44; field = destination, .*field = source/);
    await visit(page, 'config/operators/carrier');
    await page.locator('[data-key="retry"]').evaluate((element) => { element.closest('details').open = true; });
    await page.locator('[data-key="retry"] [data-key="delays"] textarea').first().fill('1m\n2h');
    assert.match(await save(page, 'carrier'), /retry\s[^]*2h/);
    await page.close();
  },

  /** A list is made, found, copied and removed by keys alone. */
  async keyboard_is_enough(browser) {
    const page = await open(browser, { expected: /status of 422/ });
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await visit(page, 'config/lists?new=1');
    await page.waitForFunction(() => document.activeElement.name === 'key.name');
    await page.keyboard.type('friends');
    await page.keyboard.press('Tab');
    await page.keyboard.type('447700900001\n4477*');
    for (let tabs = 0; tabs < 6; tabs += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement.textContent) === 'Review changes') break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Add list friends?' }).waitFor();
    assert.strictEqual(await page.evaluate(() => document.activeElement.textContent), 'Save');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'friends', level: 1 }).waitFor();
    // What something else needs cannot be removed, and it is said what that is.
    await visit(page, 'config/accounts/test');
    await key(page, 'senders').evaluate((one) => { one.closest('details').open = true; });
    await key(page, 'senders').fill('list:friends');
    await save(page, 'test');
    await visit(page, 'config/lists/friends');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'accounts/test.senders' }).waitFor();
    await page.close();
  },

  /** Every page on a screen and on a phone, light and dark: accessible, and no wider than its window. */
  async every_page_is_accessible_and_fits(browser) {
    const pages = [...KINDS.map((kind) => `config/${kind}`), 'config/accounts/test', 'config/operators/up', 'config/routes/default', 'config/accounts?new=1', 'config/event_sinks?new=1',
      'versions', 'versions/1', 'tokens', 'audit', 'keys', 'subscribers', 'routes', 'mo-rules', 'number-plan', 'nothing'];
    for (const [width, height, colorScheme] of [[1280, 860, 'light'], [1280, 860, 'dark'], [390, 844, 'light']]) {
      const page = await open(browser, { width, height, colorScheme, expected: /status of 404/ });
      await signIn(page);
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      for (const view of pages) {
        await visit(page, view);
        await page.locator('.card:visible').first().waitFor();
        await settled(page);
        await accessible(page, `${view} at ${width}, ${colorScheme}`);
        const wide = await page.evaluate(() => [...document.querySelectorAll('.card table')].filter((one) => one.scrollWidth > one.closest('.card').clientWidth).map((one) => one.caption.textContent));
        assert.deepStrictEqual(wide, [], `${view}: wider than its card at ${width}`);
        await look(page, `${view.replace(/\W+/g, '-')}-${width}-${colorScheme}`);
      }
      await page.close();
    }
  },
};

run(steps, all);
