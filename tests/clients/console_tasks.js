// Does ten things of an administrator in the console, as tasks.js says. tests/admin/ten_tasks.rs prepares and checks each.

'use strict';

const { openKind, row, save } = require('./browser.js');
const { firstSteps, go, known, replayFound, runTasks, said, search } = require('./tasks.js');

runTasks({
  async add_and_send(page) {
    await go(page, 'First steps');
    return firstSteps(page, known);
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
    return replayFound(page, known.count);
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
});
