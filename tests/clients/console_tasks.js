// Does ten things of an administrator in the console, in a real browser, each from the overview of who has signed in.
// Reports the clicks and milliseconds that it took, and what was learnt, in a JSON line. tests/admin/ten_tasks.rs prepares
// and checks each.
//
// usage: CHROMIUM=program console_tasks.js STEPS BASE TOKEN SCREENSHOTS KNOWN

'use strict';

const { clicks, console: consoleAt, key, openKind, openNew, row, run, save } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots, given] = process.argv.slice(2);
const { open, signIn, go } = consoleAt({ base, token, screenshots });
const known = JSON.parse(given);

const said = (page, text) => page.getByRole('status').filter({ hasText: text }).first();

/** Searches, and waits for what is found. */
async function search(page) {
  // What was found before is not taken for it.
  await page.evaluate(() => document.querySelector('.below [role=status]').replaceChildren());
  await page.getByRole('button', { name: 'Search' }).click();
  await said(page, 'found').waitFor();
}

/** Each gives what the administrator has learnt. */
const tasks = {
  async add_and_send(page) {
    await go(page, 'Operators');
    await page.getByRole('link', { name: 'Add an operator' }).click();
    await key(page, 'id').fill('up');
    await key(page, 'address').fill(known.address);
    await key(page, 'system_id').fill('smsc');
    await key(page, 'password').fill('old');
    await save(page, 'up');
    await page.getByRole('link', { name: 'Add a route to it' }).click();
    await key(page, 'prefix').fill('447');
    await save(page, '447');
    await openNew(page, 'Accounts', 'Add account');
    await key(page, 'system_id').fill('shop');
    await key(page, 'password').fill('pw');
    await save(page, 'shop');
    await page.getByRole('link', { name: 'Send a test message' }).click();
    await page.getByLabel('From').fill('SHOP');
    await page.getByLabel('To number').fill(known.to);
    await page.getByLabel('Text').fill('hello');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    return page.getByRole('listitem').filter({ hasText: 'DELIVERED' }).first().innerText();
  },

  async find_out_why(page) {
    await go(page, 'Messages');
    await page.getByLabel('To number, or message id').fill(known.number);
    await search(page);
    await page.locator('tbody th a').first().click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    return page.locator('main').innerText();
  },

  async rotate_password(page) {
    await go(page, 'Operators');
    await page.getByRole('link', { name: 'Settings of up' }).click();
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.keyboard.type(known.password);
    await save(page, 'up');
    return '';
  },

  async move_queue(page) {
    await go(page, 'Queues');
    // The dialog says how many there were when it was opened.
    await row(page, known.from).getByText(String(known.count), { exact: true }).first().waitFor();
    await row(page, known.from).getByRole('button', { name: `Move what waits in ${known.from}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`${known.count} messages wait here`).waitFor();
    await dialog.getByLabel('Move them to').selectOption(known.to);
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    return said(page, `go to ${known.to}`).innerText();
  },

  async replay_failures(page) {
    await go(page, 'Dead letters');
    await page.getByLabel('Operator').fill(known.operator);
    await page.getByLabel('Accepted since').fill(`${known.since}T00:00`);
    await search(page);
    await page.getByRole('button', { name: 'Replay all found' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: `Replay ${known.count}`, exact: true }).click();
    const done = await said(dialog, `of ${known.count} sent again`).innerText();
    await dialog.getByRole('button', { name: 'Close' }).click();
    return done;
  },

  async give_token(page) {
    await go(page, 'Tokens');
    await page.getByLabel('Name').fill('colleague');
    await page.getByRole('button', { name: 'Create' }).click();
    return page.locator('.secret').textContent();
  },

  async roll_back(page) {
    await openKind(page, 'Routes');
    await row(page, known.route).getByRole('link', { name: known.route }).click();
    await page.getByRole('button', { name: /^Restore version/ }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    return said(page, `${known.route} is what it was in version`).innerText();
  },

  async find_noisy(page) {
    await go(page, 'Usage');
    return page.getByRole('table', { name: 'Largest by account' }).locator('tbody th').first().innerText();
  },

  async drain(page) {
    await go(page, 'Nodes');
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain the node' }).click();
    const drained = await page.getByText('drained: it can be stopped').innerText();
    await page.getByRole('button', { name: 'End the drain' }).click();
    await page.getByText('works', { exact: true }).waitFor();
    return drained;
  },

  async export_week(page) {
    await go(page, 'Messages');
    await page.getByLabel('Accepted since').fill(`${known.since}T00:00`);
    await search(page);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    await (await saved).saveAs(known.file);
    return known.file;
  },
};

async function timed(browser, act) {
  const page = await open(browser);
  await signIn(page);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  const count = await clicks(page);
  const began = Date.now();
  const learnt = await act(page);
  report('task', { clicks: await count(), ms: Date.now() - began, learnt });
  await page.close();
}

run(steps, Object.fromEntries(Object.entries(tasks).map(([name, act]) => [name, (browser) => timed(browser, act)])));
