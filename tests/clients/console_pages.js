// Drives the pages of an account and of an operator in a real browser: how they do, the buttons of each role, the sheet for
// the customer, and names that lead there. Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_pages.js STEPS BASE TOKEN SCREENSHOTS READ-TOKEN DELIVERED-ID

'use strict';

const assert = require('node:assert');
const { accessible, console: consoleAt, hide, key, run, save, settled, until } = require('./browser.js');

const [steps, base, token, screenshots, reader, delivered] = process.argv.slice(2);
const { signedIn, go, visit, look } = consoleAt({ base, token, screenshots });

const said = (page, text) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
const titled = (page, name) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
const fact = (page, name) => page.locator('.facts div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');
/** The sheet, once it has this text. */
const sheet = (page, text) => page.locator('pre.sheet').filter({ hasText: text });

const all = {
  async account_has_a_page(browser) {
    const page = await signedIn(browser);
    await go(page, 'Accounts');
    await page.getByRole('link', { name: 'test', exact: true }).click();
    await titled(page, 'test');
    const binds = page.getByRole('table', { name: 'Binds' });
    await binds.getByText('bound', { exact: true }).first().waitFor();
    await fact(page, 'Binds').getByText('1 of 64').waitFor();
    await fact(page, 'Last login').locator('time').waitFor();
    await fact(page, 'From').getByText('127.0.0.1').waitFor();
    await page.getByRole('table', { name: 'Newest messages' }).getByRole('link', { name: delivered }).waitFor();
    await page.getByRole('table', { name: 'Sums of the month' }).getByText('MT', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Balance' }).waitFor();
    // Charts of a day or a week, and a way to all of it.
    const traffic = page.getByRole('region', { name: 'Traffic' });
    const drawn = traffic.locator('svg title');
    await drawn.filter({ hasText: 'Messages per minute: accepted by operators at most' }).waitFor({ state: 'attached' });
    await drawn.filter({ hasText: 'Refused and failed per minute: refused at most' }).waitFor({ state: 'attached' });
    const week = page.waitForResponse((answer) => answer.url().includes('/v1/history?') && answer.url().includes('account=test'));
    await traffic.getByLabel('Time of the charts').selectOption('Last 7 days');
    assert.strictEqual((await week).status(), 200);
    assert.strictEqual(await traffic.getByRole('link', { name: 'Traffic history' }).getAttribute('href'), '#/history?account=test&range=7d&by=error');
    // What was commanded of it, and of its queue.
    await page.getByRole('button', { name: 'Suspend account:test', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await said(page, 'account:test is suspended');
    await page.getByRole('button', { name: 'Resume account:test', exact: true }).click();
    await said(page, 'account:test hands out again');
    await page.reload();
    await page.getByRole('table', { name: 'Commands' }).getByText(/suspend/).first().waitFor();
    // A failure leads to its messages.
    await page.getByRole('table', { name: 'Errors of the last 24 hours' }).getByRole('link').first().click();
    await titled(page, 'Dead letters');
    assert.match(await page.evaluate(() => location.hash), /account=test/);
    await page.close();
  },

  async operator_has_a_page(browser) {
    const page = await signedIn(browser);
    await go(page, 'Operators');
    await page.getByRole('link', { name: 'up', exact: true }).click();
    await titled(page, 'up');
    const card = page.getByRole('region', { name: 'Operator up' });
    await card.getByText('1 of 1').waitFor();
    await card.getByRole('button', { name: 'Suspend up', exact: true }).waitFor();
    // What the test of the connection finds stands below its button.
    const test = card.getByRole('button', { name: 'Test the connection to up', exact: true });
    await test.click();
    await card.getByRole('heading', { name: 'It is bound already' }).waitFor();
    await accessible(page, 'operators/up, tested');
    await card.getByRole('button', { name: 'Close', exact: true }).click();
    await until(page, () => document.activeElement.getAttribute('aria-label') === 'Test the connection to up');
    await page.getByRole('region', { name: 'Traffic' }).locator('svg title').filter({ hasText: 'Mean answer' }).waitFor({ state: 'attached' });
    await page.getByRole('table', { name: 'Binds' }).getByRole('button', { name: /^Disconnect bind/ }).waitFor();
    await page.getByRole('figure').filter({ hasText: 'Messages per second' }).locator('path.line.sent').waitFor({ state: 'attached' });
    // One whose name begins as that of another has a page of its own.
    await visit(page, 'operators/up2');
    await titled(page, 'up2');
    await page.getByRole('region', { name: 'Operator up2' }).waitFor();
    assert.strictEqual(await page.getByRole('region', { name: 'Operator up', exact: true }).count(), 0);
    await page.close();
  },

  async names_lead_to_the_pages(browser) {
    const page = await signedIn(browser);
    for (const [view, name, title] of [['queues?find=operator:up', 'operator:up', 'up'], ['queues?find=account:test', 'account:test', 'test'], [`messages/${delivered}`, 'account:test', 'test'], ['usage?by=account', 'test', 'test'], ['keys', 'test', 'test']]) {
      await visit(page, view);
      await page.locator('main').getByRole('link', { name, exact: true }).first().click();
      await titled(page, title);
    }
    await page.close();
  },

  async sheet_is_handed_over(browser) {
    const page = await signedIn(browser);
    await visit(page, 'accounts/test');
    await page.getByRole('link', { name: 'Sheet for the customer' }).click();
    await titled(page, 'Sheet of test');
    await sheet(page, /host smpp\.example, port \d+, without TLS/).waitFor();
    assert(!(await page.locator('pre.sheet').innerText()).includes('s3cret99'));
    await page.getByRole('button', { name: 'Copy' }).waitFor();
    // On paper there is the sheet alone.
    await page.emulateMedia({ media: 'print' });
    assert(await page.locator('pre.sheet').isVisible());
    for (const hidden of [page.locator('nav').first(), page.getByText('The password is not on it')]) assert(!await hidden.isVisible());
    await page.emulateMedia({ media: 'screen' });
    // A password stands on it where it was just made, and not for long.
    await visit(page, 'config/accounts?new=1');
    await key(page, 'system_id').fill('fresh');
    await page.getByRole('button', { name: 'Generate' }).click();
    const made = await key(page, 'password').inputValue();
    await save(page, 'fresh');
    await page.getByRole('link', { name: 'Sheet for the customer' }).click();
    await sheet(page, made).waitFor();
    await page.getByRole('button', { name: 'Make a new password' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
    await said(page, 'The sheet has the new password');
    await until(page, (old) => /password {6}[A-Za-z0-9]{8}\n/.test(document.querySelector('pre.sheet').textContent) && !document.querySelector('pre.sheet').textContent.includes(old), made);
    await page.reload();
    await sheet(page, 'told apart from this sheet').waitFor();
    await page.close();
  },

  async account_is_paused(browser) {
    const page = await signedIn(browser);
    await visit(page, 'accounts/fresh');
    await page.getByRole('button', { name: 'Pause fresh', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await said(page, 'fresh is paused');
    await page.getByText('paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'End the pause of fresh', exact: true }).click();
    await said(page, 'fresh may bind again');
    await page.getByText('not bound', { exact: true }).waitFor();
    await page.close();
  },

  async reader_sees_no_button(browser) {
    const page = await signedIn(browser, { as: reader });
    await visit(page, 'accounts/test');
    await page.getByRole('table', { name: 'Binds' }).getByText('bound', { exact: true }).first().waitFor();
    await settled(page);
    for (const name of [/^Pause/, /^Suspend/, /^Disconnect/]) assert.strictEqual(await page.getByRole('button', { name }).count(), 0, `${name}`);
    assert.strictEqual(await page.getByRole('link', { name: 'Test message' }).count(), 0);
    assert.strictEqual(await page.getByRole('heading', { name: 'Commands' }).count(), 0);
    await page.getByRole('link', { name: 'Sheet', exact: true }).click();
    await sheet(page, 'smpp.example').waitFor();
    assert.strictEqual(await page.getByRole('button', { name: 'Make a new password' }).count(), 0);
    await visit(page, 'operators/up');
    await page.getByRole('region', { name: 'Operator up' }).waitFor();
    for (const name of [/^Suspend/, /^Rebind/, /^Disconnect/]) assert.strictEqual(await page.getByRole('button', { name }).count(), 0, `${name}`);
    await page.close();
  },

  async what_is_not_there_is_said_so(browser) {
    const page = await signedIn(browser, { expected: /status of 404/ });
    for (const [view, text] of [['accounts/nobody', 'There is no account nobody'], ['operators/nobody', 'There is no operator nobody'], ['accounts/nobody/sheet', 'There is no sheet']]) {
      await visit(page, view);
      await page.getByText(text).waitFor();
    }
    await page.close();
  },

  /** Why a request has failed stands in place of what it was for, in the words of the server. */
  async failed_requests_are_told_apart(browser) {
    const page = await signedIn(browser, { expected: /status of (400|403|404|503)|ERR_FAILED/ });
    const refuse = (status, title, detail) => (route) => route.fulfill({ status, contentType: 'application/problem+json', body: JSON.stringify({ title, detail }) });
    const answers = [
      [refuse(400, 'Bad value', 'it must be a number'), 'The search is not understood', 'it must be a number'],
      [refuse(403, 'Forbidden', 'this needs another role'), 'Forbidden', 'this needs another role'],
      [refuse(404, 'Not found', 'nobody is called so'), 'Not found', 'nobody is called so'],
      [refuse(503, 'Not available now', 'the store is away'), 'Not available now', 'the store is away'],
      [(route) => route.abort(), 'No answer', 'The SMSC cannot be reached.'],
    ];
    for (const [view, path] of [['receipts', /\/v1\/receipts\/unmatched\?/], ['usage', /\/v1\/usage\?/], ['tokens', /\/v1\/tokens$/], ['event-sinks', /\/v1\/sinks$/]]) {
      for (const [answer, title, detail] of answers) {
        await visit(page, 'overview');
        await titled(page, 'Overview');
        await page.route(path, answer);
        await visit(page, view);
        await page.locator('.empty-title:visible').filter({ hasText: title }).waitFor();
        await page.locator('main').getByText(detail).waitFor();
        await page.unroute(path);
      }
    }
    await page.close();
  },

  /** What a peer has written may look like a moment and be none, and a node of the build before says less of a finding. */
  async answers_that_are_odd_break_no_page(browser) {
    const page = await signedIn(browser);
    const answer = (body) => (route) => route.fulfill({ contentType: 'application/json', body: JSON.stringify(body) });
    const said = 'its answer was 2026-99-99T99:99:99Z, 2026-13-45 10:00 UTC or 99:99 UTC';
    const incident = { id: '1', about: 'operator:up', kind: 'refused', cause: '', nodes: [1], began_at: '2026-12-01T15:21:00Z' };
    await page.route(/\/v1\/incidents$/, answer({ incidents: [{ ...incident, text: `refuses 50 % since 2026-12-01 15:21 UTC, ${said}` }] }));
    await visit(page, 'incidents');
    const told = await page.getByRole('table', { name: /^Incidents/ }).getByText(said).textContent();
    assert(!told.includes('15:21 UTC'), told);
    await page.route(/\/v1\/failures\?/, async (route) => {
      const response = await route.fetch();
      const report = await response.json();
      await route.fulfill({ response, json: { ...report, incidents: ['operator up refuses 50 % since 2026-12-01 15:21 UTC'] } });
    });
    await visit(page, 'failures');
    const unwell = await page.getByText('operator up refuses 50 %').textContent();
    assert(!unwell.includes('UTC'), unwell);
    const finding = { at: '2026-12-01T15:21:00Z', rule: 'title', action: 'block', operation: 'sendRoutingInfoForSM', calling: '33600000001', count: 7 };
    const network = { name: 'home', address: '', state: 'up', connected: 1, configured: 1, outstanding: 0, connections: [], nodes: [], results: [], submissions: [] };
    await page.route(/\/v1\/gsm$/, answer({ gsm: [{ ...network, firewall: [finding] }] }));
    await visit(page, 'gsm');
    await page.getByRole('table', { name: 'Firewall' }).getByText('33600000001').waitFor();
    await page.close();
  },

  /** While nobody looks nothing is asked; when somebody does again, at once. */
  async unseen_account_asks_nothing(browser) {
    const page = await signedIn(browser);
    const isOfQueue = (request) => request.url().includes('/v1/queues/account');
    const first = page.waitForRequest(isOfQueue);
    await visit(page, 'accounts/test');
    await first;
    await hide(page, true);
    await settled(page);
    let asked = 0;
    page.on('request', (request) => { asked += isOfQueue(request) ? 1 : 0; });
    // Longer than between two looks.
    await page.waitForTimeout(8_000);
    assert.strictEqual(asked, 0);
    const again = page.waitForRequest(isOfQueue);
    await hide(page, false);
    await again;
    await page.close();
  },

  /** Somebody else removes what is shown. */
  async removed_while_open(browser) {
    const page = await signedIn(browser, { expected: /status of 404/ });
    const change = (method, path, body) => page.evaluate(async ([bearer, how, where, what]) => {
      const answer = await fetch(where, { method: how, headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' }, body: what });
      return answer.ok;
    }, [token, method, path, body]);
    assert(await change('PUT', '/v1/accounts/leaving', JSON.stringify({ password: 'secret99' })));
    await visit(page, 'accounts/leaving');
    const pause = page.getByRole('button', { name: 'Pause leaving', exact: true });
    await pause.waitFor();
    assert(await change('DELETE', '/v1/accounts/leaving'));
    await page.getByText('There is no account leaving').waitFor();
    assert.strictEqual(await pause.count(), 0);
    await visit(page, 'operators/up2');
    await page.getByRole('region', { name: 'Operator up2' }).waitFor();
    assert(await change('DELETE', '/v1/operators/up2'));
    await page.getByText('There is no operator up2').waitFor();
    assert.strictEqual(await page.getByRole('link', { name: 'Add a route to it' }).count(), 0);
    await page.close();
  },

  async pages_are_accessible_and_fit(browser) {
    for (const [width, height, colorScheme] of [[1280, 860, 'light'], [1280, 860, 'dark'], [390, 844, 'light']]) {
      const page = await signedIn(browser, { width, height, colorScheme });
      for (const view of ['accounts', 'accounts/test', 'accounts/test/sheet', 'operators/up']) {
        await visit(page, view);
        await page.locator('.card:visible').first().waitFor();
        await settled(page);
        await accessible(page, `${view} at ${width}, ${colorScheme}`);
        await look(page, `${view.replaceAll('/', '-')}-${width}-${colorScheme}`);
      }
      await page.close();
    }
  },
};

run(steps, all);
