// Drives the console of an SMSC with a thousand accounts and two hundred operators in a real browser: how many elements
// a page has, when it is painted, how much its tab takes from the server at rest, and that everything is reachable.
// Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_scale.js STEPS BASE TOKEN SCREENSHOTS

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const { console: consoleAt, hide, row, run, settled, until } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots] = process.argv.slice(2);
const { signIn, signedIn, go, visit, look } = consoleAt({ base, token, screenshots });

/** Most elements of a page. */
const NODES = 2_500;
/** Longest time until something is on the screen; the best of some attempts, because others use the machine, too. */
const PAINT_MS = 1_000;
const ATTEMPTS = 3;
/** Most octets of events, uncompressed, that a tab takes at rest, and for how long they are counted. */
const OCTETS_PER_SECOND = 10_000;
const SECONDS = 10;
/** What a page says when its list is there. */
const FILLED = {
  overview: /^The 12 busiest of 200: all operators$/,
  queues: /^1–50 of 1,2\d\d$/,
  accounts: /^1–100 of 1,000$/,
  operators: /^1–15 of 200$/,
  binds: /^1–50 of 200$/,
  config: /^1–100 of 1,000$/,
  'config/operators': /^1–100 of 200$/,
  'accounts/shop0500': /^Changes of its settings$/,
  'operators/carrier100': /^Where a number goes$/,
  'config/accounts/shop0500': /^Review changes$/,
  'config/operators/carrier100': /^Review changes$/,
  'config/routes?new=1': /^Review changes$/,
  'versions/1': /^[\d,]+ more$/,
};

async function filled(page, view) {
  await page.locator('.card:visible').first().waitFor();
  if (FILLED[view]) await page.getByText(FILLED[view]).waitFor();
  await settled(page);
}

/** What a tab with this view takes from the stream of events. */
async function octetsOf(browser, view) {
  const page = await signedIn(browser);
  const debug = await page.context().newCDPSession(page);
  await debug.send('Network.enable');
  const streams = new Set();
  let octets = 0;
  debug.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (request.url.includes('/v1/events?')) streams.add(requestId);
  });
  debug.on('Network.dataReceived', ({ requestId, dataLength }) => {
    if (streams.has(requestId)) octets += dataLength;
  });
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await visit(page, view);
  await filled(page, view);
  // What comes first is not what comes at rest.
  await page.waitForTimeout(3_000);
  octets = 0;
  await page.waitForTimeout(SECONDS * 1_000);
  const counted = octets;
  await page.close();
  return counted;
}

const all = {
  async pages_are_small(browser) {
    const page = await signedIn(browser);
    const links = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').evaluateAll((list) => list.map((one) => one.getAttribute('href')));
    const views = links.filter((href) => href.startsWith('#/')).map((href) => href.slice(2));
    assert(views.length >= 19, `${views}`);
    const nodes = {};
    for (const view of [...views, 'accounts/shop0500', 'accounts/shop0500/sheet', 'operators/carrier100', 'config/operators', 'config/accounts/shop0500', 'config/operators/carrier100', 'config/routes?new=1', 'versions/1']) {
      await visit(page, view);
      await filled(page, view);
      nodes[view] = await page.evaluate(() => document.querySelectorAll('*').length);
    }
    report('nodes', nodes);
    const large = Object.entries(nodes).filter(([, count]) => count > NODES);
    assert.deepStrictEqual(large, []);
    await visit(page, 'operators');
    await filled(page, 'operators');
    await look(page, 'operators-200');
    await page.close();
  },

  async pages_are_painted_soon(browser) {
    const page = await signedIn(browser);
    const soonest = {};
    for (const view of ['overview', 'queues', 'operators', 'config']) {
      await visit(page, view);
      const times = [];
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        await page.reload();
        await filled(page, view);
        await until(page, () => performance.getEntriesByName('first-contentful-paint').length > 0);
        times.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
      }
      soonest[view] = Math.round(Math.min(...times));
    }
    report('paint', soonest);
    assert.deepStrictEqual(Object.entries(soonest).filter(([, ms]) => ms > PAINT_MS), []);
    await page.close();
  },

  async tabs_take_little(browser) {
    const views = ['overview', 'queues', 'operators', 'binds', 'nodes', 'messages', 'config', 'accounts/shop0500', 'operators/carrier100'];
    const counts = [];
    // A few at a time: one token has sixteen streams, and a page that is loaded again leaves one behind for a moment.
    for (let at = 0; at < views.length; at += 3) counts.push(...await Promise.all(views.slice(at, at + 3).map((view) => octetsOf(browser, view))));
    const octets = Object.fromEntries(views.map((view, at) => [view, counts[at]]));
    report('octets', octets);
    // An overview comes every second, so that nothing at all means that nothing was counted.
    assert(counts.every((count) => count > 0 && count <= SECONDS * OCTETS_PER_SECOND), JSON.stringify(octets));
  },

  /** One of more than a thousand idle queues: by its name, by the order of the list, and on a page behind the first. */
  async every_queue_is_found(browser) {
    const page = await signedIn(browser);
    await go(page, 'Queues');
    const filter = page.getByLabel('Filter queues by name');
    await filter.fill('shop0999');
    await row(page, 'account:shop0999').waitFor();
    await filter.fill('account:shop*');
    await page.getByText('1–50 of 1,000').waitFor();
    const header = page.getByRole('columnheader', { name: 'Queue' });
    await header.getByRole('button').click();
    await header.getByRole('button').click();
    assert.strictEqual(await header.getAttribute('aria-sort'), 'descending');
    const first = (name) => until(page, (wanted) => document.querySelector('tbody th')?.textContent === wanted, name);
    await first('account:shop0999');
    await page.getByRole('button', { name: 'Next' }).click();
    await first('account:shop0949');
    await page.getByText('51–100 of 1,000').waitFor();
    // The address has it all.
    await page.reload();
    await first('account:shop0949');
    await filter.fill('nobody');
    await page.getByText('No queue has this name').waitFor();
    await page.close();
  },

  async many_queues_are_suspended_together(browser) {
    const page = await signedIn(browser);
    await visit(page, 'queues?find=account:shop001*');
    await page.getByLabel('Tick account:shop0010').check();
    await page.getByRole('button', { name: 'Tick the page' }).click();
    await page.getByText('10 queues ticked').waitFor();
    await page.getByRole('button', { name: 'Suspend ticked' }).click();
    await page.getByRole('dialog', { name: 'Suspend 10 queues?' }).getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('status').filter({ hasText: 'Suspend: ordered for 10 queues' }).waitFor();
    await row(page, 'account:shop0019').getByText('suspended').waitFor();
    // The file has what the filter finds.
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const lines = fs.readFileSync(await (await download).path(), 'utf8').trimEnd().split('\r\n');
    assert.strictEqual(lines.length, 11);
    assert.match(lines[1], /^account:shop0010,true,/);
    await page.close();
  },

  /** Of many orders those that are refused are named, and stay ticked. An address that makes no sense breaks no page. */
  async who_was_refused_is_named(browser) {
    const page = await signedIn(browser, { expected: /status of 40[04]/ });
    await page.route(/shop0021\/suspend$/, (route) => route.fulfill({
      status: 404, contentType: 'application/problem+json', body: JSON.stringify({ detail: 'there is no such queue any more' }),
    }));
    await visit(page, 'queues?find=account:shop002*');
    await page.getByLabel('Tick account:shop0020').check();
    await page.getByLabel('Tick account:shop0021').check();
    await page.getByRole('button', { name: 'Suspend ticked' }).click();
    await page.getByRole('dialog', { name: 'Suspend 2 queues?' }).getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('account:shop0021: there is no such queue any more').waitFor();
    await page.getByText('1 queues ticked').waitFor();
    assert(await page.getByLabel('Tick account:shop0021').isChecked());
    await row(page, 'account:shop0020').getByText('suspended').waitFor();
    await visit(page, 'messages?since=junk');
    await page.getByText('The search is not understood').waitFor();
    await page.close();
  },

  async columns_and_views_are_kept(browser) {
    const page = await signedIn(browser);
    // An order that there is no longer does nothing.
    await visit(page, 'queues?find=account:shop003*&sort=weight');
    await row(page, 'account:shop0030').waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Suspects' }).uncheck();
    await page.getByRole('columnheader', { name: 'Suspects' }).waitFor({ state: 'detached' });
    await row(page, 'account:shop0030').waitFor();
    await page.getByRole('button', { name: 'Keep this view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Keep this view?' });
    await dialog.getByLabel('Name').fill('The thirties');
    await dialog.getByRole('button', { name: 'Keep' }).click();
    await go(page, 'Binds');
    await page.reload();
    await page.getByRole('link', { name: 'The thirties' }).click();
    await row(page, 'account:shop0039').waitFor();
    assert.strictEqual(await page.getByLabel('Filter queues by name').inputValue(), 'account:shop003*');
    assert.strictEqual(await page.getByRole('columnheader', { name: 'Suspects' }).count(), 0);
    await look(page, 'saved-views');
    await page.getByRole('button', { name: 'Forget the view The thirties' }).click();
    await page.getByRole('link', { name: 'The thirties' }).waitFor({ state: 'detached' });
    // In the configuration every key can be a column, and sorts.
    await visit(page, 'config/accounts?sort=-name');
    await page.getByRole('link', { name: 'shop0999' }).waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Addresses', exact: true }).check();
    await page.getByRole('cell', { name: '447700900999', exact: true }).waitFor();
    await page.getByRole('columnheader', { name: 'Addresses' }).getByRole('button').click();
    await page.getByRole('cell', { name: '447700900000', exact: true }).waitFor();
    assert.strictEqual(await page.evaluate(() => location.hash), '#/config/accounts?sort=addresses');
    await page.close();
  },

  async unseen_tabs_give_their_connection_back(browser) {
    const page = await signedIn(browser);
    await settled(page);
    const isOfEvents = (request) => request.url().includes('/v1/events?');
    const givenBack = page.waitForEvent('requestfailed', isOfEvents);
    await hide(page, true);
    await givenBack;
    const again = page.waitForRequest(isOfEvents);
    await hide(page, false);
    await again;
    await page.getByText('Live', { exact: true }).waitFor();
    await page.close();
  },

  /** Accounts are searched on the server, by any value. */
  async every_account_is_found(browser) {
    const page = await signedIn(browser);
    await visit(page, 'config/accounts');
    await filled(page, 'config');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('101–200 of 1,000').waitFor();
    await page.getByRole('link', { name: 'shop0199' }).waitFor();
    await page.getByLabel('Find among Accounts').fill('447700900999');
    await page.getByText('1 found').waitFor();
    await page.getByRole('link', { name: 'shop0999' }).click();
    await page.getByRole('button', { name: 'Review changes' }).waitFor();
    await page.close();
  },

  async new_tab_needs_no_token(browser) {
    const page = await signedIn(browser);
    const other = await page.context().newPage();
    await other.goto(`${base}#/queues?find=shop0001`);
    await row(other, 'account:shop0001').waitFor();
    assert.strictEqual(await other.evaluate(() => localStorage.length), 0, 'it is kept nowhere but in the tabs');
    // Of several tabs the one with the lowest role hands its token over: nobody gets more than expected.
    const made = await fetch(`${base}v1/tokens`, {
      method: 'POST', headers: { Authorization: `Bearer ${token}` }, body: JSON.stringify({ name: 'looker', role: 'read' }),
    });
    const { secret } = await made.json();
    const looker = await page.context().newPage();
    await looker.goto(base);
    await looker.evaluate((given) => sessionStorage.setItem('smsc.token', given), secret);
    await looker.reload();
    await looker.getByText('looker · read').waitFor();
    const fourth = await page.context().newPage();
    await fourth.goto(base);
    await fourth.getByText('looker · read').waitFor();
    // Who signs out means all tabs, whatever their tokens: what is loaded again takes over none of them.
    await looker.getByRole('button', { name: 'Sign out' }).click();
    await looker.getByLabel('Token').waitFor();
    await page.getByText('You have signed out in another tab.').waitFor();
    await looker.reload();
    await looker.getByLabel('Token').waitFor();
    await looker.waitForTimeout(2_000);
    assert.strictEqual(await looker.evaluate(() => sessionStorage.length), 0);
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await other.reload();
    await row(other, 'account:shop0001').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByText('You have signed out in another tab.').waitFor();
    assert.strictEqual(await other.evaluate(() => sessionStorage.length), 0);
    const third = await page.context().newPage();
    await third.goto(base);
    await third.getByLabel('Token').waitFor();
    await page.close();
  },
};

run(steps, all);
