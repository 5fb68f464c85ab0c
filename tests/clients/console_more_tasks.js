// Does ten more things of an administrator in the console, as tasks.js says. tests/admin/ten_more_tasks.rs prepares and checks
// each.

'use strict';

const { row } = require('./browser.js');
const { firstSteps, go, known, replayFound, runTasks, said } = require('./tasks.js');

const MINUTE_MS = 60_000;

/** A time so many minutes ago, as an input has it. */
function minutesAgo(minutes) {
  const at = new Date(Date.now() - minutes * MINUTE_MS);
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

/** Asks the question of a form, and waits for the page with the answer. */
async function show(page) {
  await page.locator('h1').evaluate((heading) => heading.setAttribute('data-asked', ''));
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('h1:not([data-asked])').waitFor();
}

/** The page to which a failure leads. */
async function deadLetters(page) {
  await page.getByRole('heading', { name: 'Dead letters', level: 1 }).waitFor();
  await said(page, 'found').waitFor();
  return page.locator('main').innerText();
}

runTasks({
  async set_up(page) {
    await page.getByRole('link', { name: 'Set it up in five steps' }).click();
    return firstSteps(page, known, { isTested: true });
  },

  async find_network(page) {
    await go(page, 'Failures');
    await page.getByLabel('Divided by', { exact: true }).selectOption('country');
    await page.getByLabel('Ended since', { exact: true }).fill(minutesAgo(known.minutes));
    await show(page);
    const most = page.getByRole('table', { name: 'Failures by country' }).getByRole('link').first();
    const country = await most.innerText();
    await most.click();
    return `${country}: ${await deadLetters(page)}`;
  },

  async find_cause(page) {
    await go(page, 'Messages');
    await page.getByLabel('To number, or message id').fill(known.message);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    return page.locator('main').innerText();
  },

  async replay_slowly(page) {
    await go(page, 'Failures');
    await page.getByRole('table', { name: 'Failures by error' }).getByRole('link', { name: known.error }).click();
    await deadLetters(page);
    return replayFound(page, known.count, known.rate);
  },

  async find_slow(page) {
    await go(page, 'Incidents');
    return page.getByRole('table', { name: 'Incidents' }).locator('tbody tr').first().innerText();
  },

  async pause(page) {
    await go(page, 'Operators');
    for (const name of known.operators) await page.getByLabel(`Tick ${name}`).check();
    await page.getByRole('button', { name: 'Suspend ticked' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend', exact: true }).click();
    return said(page, `ordered for ${known.operators.length} operators`).innerText();
  },

  async count_month(page) {
    await go(page, 'Usage');
    await page.getByLabel('From', { exact: true }).fill(known.since);
    await page.getByLabel('Account', { exact: true }).fill(known.account);
    await show(page);
    return said(page, 'MT and').innerText();
  },

  async get_sheet(page) {
    await go(page, 'Accounts');
    await page.getByRole('link', { name: known.account, exact: true }).click();
    await page.getByRole('link', { name: 'Sheet for the customer' }).click();
    return page.locator('pre.sheet').filter({ hasText: known.account }).innerText();
  },

  async compare(page) {
    await go(page, 'Traffic history');
    return row(page.getByRole('table', { name: 'Messages by operator' }), known.operator).innerText();
  },

  async find_change(page) {
    await go(page, 'History');
    await page.getByRole('row').filter({ hasText: `route ${known.route} changed` }).first().getByRole('link').click();
    await page.getByRole('heading', { name: /^Version/, level: 1 }).waitFor();
    await page.locator('main dd').first().waitFor();
    return page.locator('main').innerText();
  },
});
