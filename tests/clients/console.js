// Drives the console in a real browser, step by step, and reports each step in a JSON line.
//
// usage: CHROMIUM=program console.js STEPS BASE TOKEN SCREENSHOTS DELIVERED-ID SCHEDULED-ID MOVED-ID DEAD-ID

'use strict';

const assert = require('node:assert');
const path = require('node:path');
const { console: consoleAt, key, row, run, save, settled, until } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots, delivered, scheduled, moved, dead] = process.argv.slice(2);
const { open, signIn, go } = consoleAt({ base, token, screenshots });
const VIEWS = ['overview', 'incidents', 'queues', 'operators', 'gsm', 'binds', 'callbacks', 'messages', 'compose', 'failures', 'dead-letters', 'damaged', 'held', 'subscribers', 'routes', 'mo-rules', 'number-plan', 'event-sinks', 'nats-sources', 'history', 'usage', 'keys', 'nodes'];

const tileIsAbove = ([label, least]) => [...document.querySelectorAll('.tile')].some((tile) =>
  tile.querySelector('.tile-label').textContent === label
    && Number(tile.querySelector('.tile-value').textContent.replaceAll(',', '')) > least);

const all = {
  async wrong_token(browser) {
    const page = await open(browser, { expected: /status of 401/ });
    await signIn(page, 'nonsense');
    await page.getByRole('alert').filter({ hasText: 'This token is not accepted' }).waitFor();
    assert.strictEqual(await page.evaluate(() => document.activeElement.name), 'token');
    // The right one still opens, and signing out forgets it.
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.strictEqual(await page.evaluate(() => sessionStorage.length), 0);
    await page.close();
  },

  /** The form for a token is there before it is known who else signs in people, and stays where it is. */
  async door_does_not_wait(browser) {
    const page = await open(browser, { expected: /status of 401/ });
    const waiting = [];
    await page.route(/\/oidc$/, (route) => waiting.push(route));
    await page.reload();
    const field = page.getByLabel('Token');
    await field.fill('half a tok');
    const before = await field.boundingBox();
    for (const route of waiting) await route.fulfill({ contentType: 'application/json', body: '{"label":"the tests"}' });
    await page.getByRole('link', { name: 'Sign in with the tests' }).waitFor();
    assert.deepStrictEqual(await field.boundingBox(), before);
    assert.strictEqual(await field.inputValue(), 'half a tok');
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    assert(waiting.length === 1, `${waiting.length} questions`);
    await page.close();
  },

  async figures_move(browser) {
    const page = await open(browser);
    await signIn(page);
    for (const label of ['Accepted per second', 'Sent per second', 'Delivered per second']) {
      await until(page, tileIsAbove, [label, 20]);
    }
    const line = await page.locator('.graph .line.accepted').getAttribute('d');
    await until(page, (before) => document.querySelector('.graph .line.accepted').getAttribute('d') !== before, line);
    await page.getByText('Live', { exact: true }).waitFor();
    await go(page, 'Binds');
    await until(page, () => /\d ms/.test(document.querySelector('td[data-label="Answers in"]')?.textContent ?? ''));
    await go(page, 'Operators');
    const fussy = page.getByRole('region', { name: 'Operator fussy' });
    await fussy.getByText('1 of 1').waitFor();
    await go(page, 'Nodes');
    await page.getByText('One node, on its own').waitFor();
    await page.close();
  },

  async message_is_found(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Messages');
    await page.getByLabel('To number, or message id').fill('+44 7911 123456');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: delivered }).click();
    const timeline = page.getByRole('list').filter({ hasText: 'Accepted' });
    for (const text of ['from account:test', 'Attempt 1', 'operator:up answered ESME_ROK', 'DELIVERED', 'reported by', 'Receipt acknowledged']) {
      await timeline.getByText(text).first().waitFor();
    }
    assert.match(await timeline.locator('time').first().getAttribute('title'), / UTC$/);
    await page.getByRole('button', { name: 'Show the text' }).click();
    await page.getByText('hello console').waitFor();
    // An id leads straight there; one that nobody has is said so.
    await go(page, 'Messages');
    await page.getByLabel('To number, or message id').fill(scheduled);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('heading', { name: `Message ${scheduled}` }).waitFor();
    await page.close();
    const lost = await open(browser, { expected: /status of 404/ });
    await signIn(lost);
    await lost.goto(`${base}#/messages/1234567890123456789`);
    await lost.getByText('There is no such message').waitFor();
    await lost.close();
  },

  async message_is_retried_and_cancelled(browser) {
    const page = await open(browser);
    await page.goto(`${base}#/messages/${scheduled}`);
    await signIn(page);
    await page.getByText('Next attempt').waitFor();
    await page.getByRole('button', { name: 'Retry now' }).click();
    await page.getByRole('status').filter({ hasText: 'It is due now' }).waitFor();
    await page.getByText('Attempt 2').waitFor();
    await page.getByText('Next attempt').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this message?' });
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    assert.strictEqual(await page.getByText('Next attempt').count(), 1);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await dialog.getByRole('button', { name: 'Cancel the message' }).click();
    await page.getByRole('listitem').filter({ hasText: 'DELETED' }).waitFor();
    assert.strictEqual(await page.getByRole('button', { name: 'Retry now' }).count(), 0);
    await page.close();
  },

  /** Queues are offered before the live events have come, and as soon as the server can name them. */
  async message_is_moved(browser) {
    const page = await open(browser, { expected: /status of 503/ });
    await page.route(/\/v1\/events\?/, () => {});
    await page.goto(`${base}#/messages/${moved}`);
    await signIn(page);
    await page.getByText('Next attempt').waitFor();
    const move = page.getByRole('button', { name: 'Move' });
    const dialog = page.getByRole('dialog', { name: 'Move this message' });
    const refusal = { status: 503, contentType: 'application/problem+json', body: '{"detail":"The store is away."}' };
    await page.route(/\/v1\/queues$/, (route) => route.fulfill(refusal), { times: 1 });
    await move.click();
    await page.getByText('The store is away.').waitFor();
    assert.strictEqual(await dialog.count(), 0);
    await move.click();
    await dialog.getByLabel('To queue').selectOption('operator:up');
    await dialog.getByRole('button', { name: 'Move' }).click();
    await page.getByText('Ordered: move').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'DELIVERED' }).waitFor();
    await page.close();
  },

  /** A question that is ready late is not asked on another page. */
  async question_belongs_to_its_page(browser) {
    const page = await open(browser);
    await page.goto(`${base}#/messages/${scheduled}`);
    await signIn(page);
    const asked = new Promise((hold) => { page.route(/\/v1\/queues$/, hold); });
    await page.getByRole('button', { name: 'Move' }).click();
    const route = await asked;
    await go(page, 'Nodes');
    const answered = page.waitForResponse(/\/v1\/queues$/);
    await route.continue();
    await (await answered).finished();
    await settled(page);
    assert.strictEqual(await page.getByRole('dialog').count(), 0);
    await page.close();
  },

  async dead_letter_is_replayed(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Dead letters');
    await page.getByLabel('Operator').fill('picky');
    await page.getByRole('button', { name: 'Search' }).click();
    const letter = row(page, dead);
    await letter.getByText('REJECTED').waitFor();
    await letter.getByLabel(`Attempts of ${dead}`).click();
    await letter.getByText(/operator:picky answered ESME_RINVDSTADR after .* by bind \d+\/\d+/).waitFor();
    await letter.getByRole('button', { name: `Replay ${dead}` }).click();
    const dialog = page.getByRole('dialog', { name: 'Send this message again?' });
    await dialog.getByLabel('Send it to').selectOption('operator:up');
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await letter.getByRole('link', { name: /^\d+$/ }).filter({ hasNotText: dead }).click();
    await page.getByRole('listitem').filter({ hasText: 'DELIVERED' }).waitFor();
    await page.getByRole('link', { name: dead }).waitFor();
    await page.close();
  },

  async callback_is_tested_and_paused(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Callbacks');
    const called = row(page, 'called');
    await called.getByText('HTTP 404').first().waitFor();
    await called.getByLabel('Attempts of account:called').click();
    await called.getByText(/HTTP 404 after .*/).first().waitFor();
    await called.getByText('ok', { exact: true }).first().waitFor();
    await called.getByRole('button', { name: 'Test the callback of called' }).click();
    await page.getByRole('status').filter({ hasText: 'called: HTTP 404' }).waitFor();
    await called.getByRole('button', { name: 'Pause account:called' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').filter({ hasText: 'account:called is paused' }).waitFor();
    await called.getByRole('button', { name: 'Resume account:called' }).click();
    await page.getByRole('status').filter({ hasText: 'account:called is called again' }).waitFor();
    const receipt = page.getByRole('button', { name: /^Replay the receipt of/ });
    await receipt.first().click();
    await page.getByRole('status').filter({ hasText: 'brings it' }).waitFor();
    await page.close();
  },

  async message_is_composed(browser) {
    const page = await open(browser, { expected: /status of 400/ });
    await signIn(page);
    await go(page, 'Compose');
    const fact = (name, value) => page.locator('.facts div').filter({ hasText: name }).locator('dd').getByText(value, { exact: true }).waitFor();
    await page.getByLabel('Text').fill('Grüße');
    await fact('Alphabet', 'GSM 7-bit');
    await page.getByLabel('Text').fill('ж'.repeat(71));
    await fact('Characters', '71');
    await fact('Alphabet', 'UCS-2');
    await fact('Short messages', '2');
    // What the account may not send is said before sending.
    await page.getByLabel('From').fill('a name that is too long');
    await page.getByRole('alert').filter({ hasText: 'from must be a number' }).waitFor();
    await page.getByLabel('From').fill('ACME');
    await page.getByLabel('To number').fill('+44 7911 654321');
    await page.getByLabel('Text').fill('hello from the console');
    await fact('Route', 'up');
    await fact('Price', 'None: the account does not pay in advance');
    await fact('Short messages', '1');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('status').filter({ hasText: 'It is accepted' }).waitFor();
    const timeline = page.getByRole('list').filter({ hasText: 'Accepted' });
    for (const text of ['from account:test', 'Attempt 1', 'DELIVERED']) await timeline.getByText(text).first().waitFor();
    await page.screenshot({ path: path.join(screenshots, 'compose-sent.png'), fullPage: true });
    await page.locator('.card-head').getByRole('link').click();
    await page.getByRole('button', { name: 'Show the text' }).click();
    await page.getByText('hello from the console').waitFor();
    await page.close();
  },

  async key_is_made_and_revoked(browser) {
    const page = await open(browser, { expected: /status of 400/ });
    await signIn(page);
    await go(page, 'API keys');
    await page.getByLabel('Label (optional)').fill('till 3');
    await page.getByLabel('Role').selectOption('send');
    await page.getByLabel('Addresses (optional)').fill('somewhere');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').filter({ hasText: 'CIDR' }).waitFor();
    await page.getByLabel('Addresses (optional)').fill('192.0.2.0/24 198.51.100.7');
    await page.getByLabel('Expires (optional)').fill('2036-11-21T09:00');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'The new key of test' }).waitFor();
    const secret = await page.locator('.secret').textContent();
    assert.match(secret, /^smsck_/);
    await page.screenshot({ path: path.join(screenshots, 'keys-made.png'), fullPage: true });
    const made = page.getByRole('row').filter({ hasText: 'till 3' });
    for (const text of ['test', 'Send', '192.0.2.0/24 198.51.100.7']) await made.getByText(text, { exact: true }).waitFor();
    await made.getByText(/2036/).waitFor();
    // It is shown once.
    await page.getByRole('button', { name: 'I have it' }).click();
    assert(!(await page.content()).includes(secret));
    await go(page, 'Nodes');
    await go(page, 'API keys');
    await made.waitFor();
    assert(!(await page.content()).includes(secret));
    await made.getByRole('button', { name: /^Revoke key_/ }).click();
    await page.getByRole('dialog', { name: 'Revoke this key?' }).getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByRole('status').filter({ hasText: 'is revoked' }).waitFor();
    await made.waitFor({ state: 'detached' });
    await page.close();
  },

  async rules_are_made_and_moved(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'MO rules');
    for (const name of ['earlier', 'later']) {
      await go(page, 'MO rules');
      await page.getByRole('link', { name: 'New rule' }).click();
      await key(page, 'name').fill(name);
      await key(page, 'to').fill('777');
      await key(page, 'drop').check();
      await save(page, name);
    }
    await go(page, 'MO rules');
    const names = () => page.locator('tbody tr').evaluateAll((rows) => rows.map((one) => one.children[1].textContent));
    await page.getByRole('cell', { name: 'later', exact: true }).waitFor();
    assert.deepEqual(await names(), ['earlier', 'later']);
    await page.getByRole('button', { name: 'Move later up' }).click();
    await page.getByRole('status').filter({ hasText: 'later is tried earlier' }).waitFor();
    // The list is read anew after the status is shown.
    await page.locator('tbody tr').first().filter({ hasText: 'later' }).waitFor();
    await page.getByRole('button', { name: 'Move later up' }).and(page.locator(':focus')).waitFor();
    assert.deepEqual(await names(), ['later', 'earlier']);
    // There is nothing before it.
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'later is the first rule' }).waitFor();
    await page.close();
  },

  async ranges_are_made_and_asked(browser) {
    const page = await open(browser, { expected: /status of 4/ });
    await signIn(page);
    await go(page, 'Number plan');
    await page.getByRole('link', { name: 'New range' }).click();
    await key(page, 'name').fill('own');
    await key(page, 'prefixes').fill('4477009\n99');
    await key(page, 'min_digits').fill('12');
    await key(page, 'to').fill('fussy 30 and up 70\ntest:delivered');
    await key(page, 'numbers').fill('447700900123\n44770090020*');
    await save(page, 'own');
    await go(page, 'Number plan');
    const own = row(page, 'own');
    for (const text of ['4477009, 99', 'at least 12', '447700900123, 44770090020*', 'fussy 30 and up 70, then test:delivered']) await own.getByText(text, { exact: true }).waitFor();
    // What the server refuses stands beside its key.
    await own.getByRole('link', { name: 'own' }).click();
    await key(page, 'prefixes').fill('44x');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.locator('[data-key="prefixes"] .problem').filter({ hasText: '44x' }).waitFor();
    await key(page, 'prefixes').fill('4477009');
    await save(page, 'own');
    await go(page, 'Number plan');
    await own.getByText('4477009', { exact: true }).waitFor();
    await own.getByText('fussy 30 and up 70, then test:delivered', { exact: true }).waitFor();
    for (const [number, verdict] of [['447700900123', /is local, of the range own\./], ['447700900999', /of the range own, and does not exist/], ['33123456789', /is outside, of no range/]]) {
      await page.getByLabel('Number', { exact: true }).fill(number);
      await page.getByRole('button', { name: 'Classify' }).click();
      await page.locator('.verdict').filter({ hasText: verdict }).waitFor();
    }
    await page.screenshot({ path: path.join(screenshots, 'number-plan-made.png'), fullPage: true });
    await own.getByRole('link', { name: 'own' }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: 'Remove number range own?' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('status').filter({ hasText: 'own is removed' }).waitFor();
    await go(page, 'Number plan');
    await page.getByText('No number plan', { exact: true }).waitFor();
    await page.close();
  },

  /** One message has arrived, one was refused with RP-cause 22, and a handset was told that there is no route. */
  async gsm_networks_show_figures(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'GSM networks');
    const network = page.getByRole('table', { name: 'GSM networks' }).getByRole('row', { name: /^home / });
    await network.getByText('up', { exact: true }).waitFor();
    await network.getByText('1 of 1', { exact: true }).waitFor();
    const connection = page.getByRole('table', { name: 'Connections' }).getByRole('row', { name: /^home / });
    await connection.getByText('bound', { exact: true }).waitFor();
    await connection.getByText('0 / 100', { exact: true }).waitFor();
    const results = page.getByRole('table', { name: 'Results' });
    for (const text of ['arrived', 'RP_MEMORY_CAPACITY_EXCEEDED', '1 unassigned number']) await results.getByText(text, { exact: true }).waitFor();
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert(wider <= 0, `${wider} pixels too wide`);
    await page.screenshot({ path: path.join(screenshots, 'gsm-figures.png'), fullPage: true });
    await network.getByRole('button', { name: 'Suspend home' }).click();
    await page.getByRole('dialog', { name: 'Suspend home?' }).getByRole('button', { name: 'Suspend' }).click();
    await network.getByText('paused', { exact: true }).waitFor();
    await network.getByRole('button', { name: 'Resume home' }).click();
    await network.getByText('up', { exact: true }).waitFor();
    await page.close();
  },

  async gsm_firewall_shows_findings(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'GSM networks');
    const finding = page.getByRole('table', { name: 'Firewall' }).getByRole('row', { name: /spoofed/ });
    for (const text of ['home', 'refused', 'forwardSM', '43664000001']) await finding.getByText(text, { exact: true }).waitFor();
    await page.close();
  },

  async queue_is_suspended_and_resumed(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Queues');
    const queue = row(page, 'operator:up');
    await queue.getByText('served').waitFor();
    await queue.getByRole('button', { name: 'Suspend operator:up' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    // First the message, which goes away by itself.
    await page.getByRole('status').filter({ hasText: 'operator:up is suspended' }).waitFor();
    await queue.getByText('suspended').waitFor();
    await go(page, 'Overview');
    await page.getByText('queue operator:up: suspended by').waitFor();
    await go(page, 'Queues');
    await queue.getByRole('button', { name: 'Resume operator:up' }).click();
    await queue.getByText('served').waitFor();
    // What cannot be undone wants the name typed.
    const first = row(page, 'test:delivered').or(row(page, 'account:test')).first();
    assert.strictEqual(await first.getByRole('button', { name: /^Purge/ }).isVisible(), false, 'it is not beside what is pressed every day');
    await first.getByText('More', { exact: true }).click();
    await first.getByRole('button', { name: /^Purge/ }).click();
    assert(await page.getByRole('dialog').getByRole('button', { name: 'Purge' }).isDisabled());
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.close();
  },

  async keyboard_is_enough(browser) {
    const page = await open(browser);
    const named = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim());
    const tabTo = async (name) => {
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await page.keyboard.press('Tab');
        if (await named() === name) return;
      }
      assert.fail(`60 tabs do not lead to ${name}`);
    };
    await until(page, () => document.activeElement.name === 'token');
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await until(page, () => document.activeElement.tagName === 'H1');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    assert.strictEqual(await named(), 'Skip to the content');
    const focus = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.strictEqual(focus, 'solid', 'the focus is visible');
    await page.keyboard.press('Enter');
    assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'main');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await tabTo('Queues');
    await page.keyboard.press('Enter');
    await until(page, () => document.activeElement.textContent === 'Queues' && document.activeElement.tagName === 'H1');
    await row(page, 'operator:fussy').waitFor();
    await tabTo('Suspend operator:fussy');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Suspend operator:fussy?' }).waitFor();
    await page.keyboard.press('Tab');
    assert.strictEqual(await named(), 'Suspend');
    await page.keyboard.press('Enter');
    await row(page, 'operator:fussy').getByText('suspended').waitFor();
    // The focus is where it was, on the command that undoes this.
    await until(page, () => document.activeElement.getAttribute('aria-label') === 'Resume operator:fussy');
    await page.keyboard.press('Enter');
    await row(page, 'operator:fussy').getByText('suspended').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await until(page, () => document.activeElement.name === 'what');
    await page.close();
  },

  /** Every view on a screen and on a phone, light and dark; nothing is wider than the phone. */
  async every_view_fits(browser) {
    for (const [width, height] of [[1280, 860], [390, 844]]) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await open(browser, { width, height, colorScheme });
        // console_work.js takes the pictures.
        const fits = async (name) => {
          const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert(wider <= 0, `${name} is ${wider} pixels wider than ${width}`);
        };
        await fits('sign-in');
        await signIn(page);
        await until(page, tileIsAbove, ['Accepted per second', 20]);
        for (const view of [...VIEWS, `messages/${delivered}`, `messages/${scheduled}`]) {
          await page.evaluate((to) => { location.hash = `#/${to}`; }, view);
          const ready = view.includes('/') ? '.timeline' : '.card:visible';
          await page.locator(ready).first().waitFor();
          if (view === 'messages') await page.getByText(/^\d+( or more)? found$/).waitFor();
          await settled(page);
          await fits(view);
        }
        const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        await page.getByRole('button', { name: /^Use (light|dark) colours/ }).click();
        assert.notStrictEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), background);
        await page.close();
      }
    }
  },

  /** The test takes the server away when it reads `away?`, and starts it again after `away`. */
  async server_goes_and_comes_back(browser) {
    const page = await open(browser, { expected: /ERR_|Failed to load/ });
    await signIn(page);
    await page.getByText('Live', { exact: true }).waitFor();
    report('away?', {});
    await page.getByText('No connection to this SMSC.').waitFor();
    await page.getByText('What you see is from').waitFor();
    report('away', {});
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('No connection to this SMSC.').waitFor({ state: 'hidden' });
    await page.close();
  },
};

run(steps, all);
