// What the scripts share that do tasks of an administrator in the console, in a real browser, each from the overview of who
// has signed in: what is known, what is done in several tasks, and counting. Reports the clicks and milliseconds that each
// took, and what was learnt, in a JSON line. tests/admin/tasks.rs prepares and checks each.
//
// usage: CHROMIUM=program SCRIPT STEPS BASE TOKEN SCREENSHOTS KNOWN

'use strict';

const { clicks, console: consoleAt, key, run } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots, given] = process.argv.slice(2);
const { signedIn, go } = consoleAt({ base, token, screenshots });

exports.go = go;

/** What the administrator knows of the task. */
exports.known = JSON.parse(given);

exports.said = (page, text) => page.getByRole('status').filter({ hasText: text }).first();

/** Searches, and waits for what is found. */
exports.search = async (page) => {
  // What was found before is not taken for it.
  await page.evaluate(() => document.querySelector('.below [role=status]').replaceChildren());
  await page.getByRole('button', { name: 'Search' }).click();
  await exports.said(page, 'found').waitFor();
};

/** Replays what was found, at most `rate` a second if that is given. */
exports.replayFound = async (page, count, rate = null) => {
  await page.getByRole('button', { name: 'Replay all found' }).click();
  const dialog = page.getByRole('dialog');
  if (rate) await dialog.getByLabel('At most per second').fill(String(rate));
  await dialog.getByRole('button', { name: `Replay ${count}`, exact: true }).click();
  // It also says how far it is.
  const done = await exports.said(dialog, `${count} of ${count} sent again`).innerText();
  await dialog.getByRole('button', { name: 'Close' }).click();
  return done;
};

/** Goes through the first steps until a message is delivered; with `isTested` the connection to the operator is tried. */
exports.firstSteps = async (page, { address, to }, { isTested = false } = {}) => {
  const click = (name) => page.getByRole('button', { name, exact: true }).click();
  const step = (title) => page.getByRole('heading', { name: title, level: 2, exact: true }).waitFor();
  await step('Customer');
  await key(page, 'system_id').fill('shop');
  await key(page, 'password').fill('pw');
  await click('Save and go on');
  await step('Operator');
  await key(page, 'id').fill('up');
  await key(page, 'address').fill(address);
  await key(page, 'system_id').fill('smsc');
  await key(page, 'password').fill('old');
  if (isTested) {
    await click('Test the connection');
    await page.getByRole('heading', { name: 'The connection works' }).waitFor();
  }
  await click('Save and go on');
  await step('Route');
  await key(page, 'prefix').fill('447');
  await click('Save and go on');
  await step('Test message');
  await page.getByLabel('From').fill('SHOP');
  await page.getByLabel('To number').fill(to);
  await click('Send');
  await page.getByRole('heading', { name: 'It is delivered' }).waitFor();
  return page.getByRole('listitem').filter({ hasText: 'DELIVERED' }).first().innerText();
};

async function timed(browser, act) {
  const page = await signedIn(browser);
  const count = await clicks(page);
  const began = Date.now();
  const learnt = await act(page);
  report('task', { clicks: await count(), ms: Date.now() - began, learnt });
  await page.close();
}

/** Each of the tasks gives what the administrator has learnt. */
exports.runTasks = (tasks) => run(steps, Object.fromEntries(Object.entries(tasks).map(([name, act]) => [name, (browser) => timed(browser, act)])));
