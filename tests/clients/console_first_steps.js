// Drives the first steps of the console in a real browser: from an empty SMSC to a message that is delivered, with what is
// wrong on the way beside its field. Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_first_steps.js STEPS BASE TOKEN SCREENSHOTS READER OPERATOR-ADDRESS CLOSED-ADDRESS SMPP-PORT

'use strict';

const assert = require('node:assert');
const { accessible, console: consoleAt, key, run, settled } = require('./browser.js');
const { report } = require('./common.js');

const [steps, base, token, screenshots, reader, operator, closed, port] = process.argv.slice(2);
const { open, signIn, signedIn, go, visit, look } = consoleAt({ base, token, screenshots });

const problem = (page, name, text) => page.locator(`[data-key="${name}"] .problem`).filter({ hasText: text }).waitFor();
const step = (page, title) => page.getByRole('heading', { name: title, level: 2, exact: true }).waitFor();
const click = (page, name) => page.getByRole('button', { name, exact: true }).click();
const empty = (page) => page.getByRole('heading', { name: 'This SMSC is empty' });

/** What the test of the connection says. */
async function tested(page, title, ...texts) {
  await click(page, 'Test the connection');
  await page.getByRole('heading', { name: title }).waitFor();
  for (const text of texts) await page.locator('.note').getByText(text).first().waitFor();
}

const all = {
  /** From nothing to DELIVERED, left once on the way. */
  async empty_smsc_delivers(browser) {
    const page = await open(browser, { expected: /status of 4(00|12|22)/ });
    await signIn(page);
    await empty(page).waitFor();
    await accessible(page, 'empty overview');
    await page.getByRole('link', { name: 'Set it up in five steps' }).click();
    await page.getByRole('heading', { name: 'First steps', level: 1 }).waitFor();

    await step(page, 'Customer');
    await click(page, 'Save and go on');
    await problem(page, 'system_id', 'is missing');
    await problem(page, 'password', 'is missing');
    await key(page, 'system_id').fill('a name that is too long');
    await click(page, 'Generate');
    const password = await key(page, 'password').inputValue();
    await click(page, 'Save and go on');
    await problem(page, 'system_id', 'has 23 octets; the standard allows 15');
    await key(page, 'system_id').fill('..');
    await click(page, 'Save and go on');
    await problem(page, 'system_id', '".." cannot be a part of a URL, where it means a folder; choose another name');
    await accessible(page, 'customer');
    await key(page, 'system_id').fill('shop');
    await click(page, 'Save and go on');

    await step(page, 'Operator');
    await click(page, 'Test the connection');
    await problem(page, 'address', 'is missing');
    await key(page, 'id').fill('up');
    await key(page, 'address').fill(closed);
    await key(page, 'system_id').fill('smsc');
    await key(page, 'password').fill('wrong');
    await tested(page, 'It fails at this step: TCP', 'What helps:', 'Check host and port');
    await key(page, 'address').fill(operator);
    await tested(page, 'It fails at this step: Bind', 'ESME_RINVPASWD', 'Ask the operator for the password');
    await accessible(page, 'failed test');
    await look(page, 'first-steps-operator');
    await key(page, 'password').fill('right');
    await tested(page, 'The connection works');
    await click(page, 'Save and go on');

    await step(page, 'Route');
    // Whether it is empty is known once the names have come.
    const names = page.waitForResponse(/\/v1\/find\?text=\*$/);
    await go(page, 'Overview');
    await names;
    await settled(page);
    assert.strictEqual(await empty(page).count(), 0);
    await go(page, 'First steps');
    await step(page, 'Route');
    assert.strictEqual(await key(page, 'to').inputValue(), 'up');
    await click(page, 'Save and go on');

    await step(page, 'Test message');
    await page.getByLabel('From').fill('SHOP');
    await page.getByLabel('To number').fill('nobody');
    await click(page, 'Send');
    await page.locator('[name="to"][aria-invalid="true"]').waitFor();
    await accessible(page, 'test message');
    await page.getByLabel('To number').fill('447911123456');
    await click(page, 'Send');
    await page.getByRole('heading', { name: 'It is delivered' }).waitFor();
    await look(page, 'first-steps-message');
    await page.getByRole('link', { name: 'Go on: sheet' }).click();

    await step(page, 'Sheet');
    // Host, port and limits are those that the server knows.
    const text = await page.getByRole('region', { name: 'The sheet' }).innerText();
    for (const line of [new RegExp(`smpp +host 127\\.0\\.0\\.1, port ${port}, without TLS`), /system_id +shop/, new RegExp(`password +${password}`), /binds +\d+ at once/]) assert.match(text, line);
    await accessible(page, 'sheet');
    await look(page, 'first-steps-sheet');
    const untold = async () => {
      await step(page, 'Sheet');
      assert.match(await page.getByRole('region', { name: 'The sheet' }).innerText(), /password +told apart/);
    };
    // Who signs in next in this window does not see the password.
    await click(page, 'Sign out');
    await signIn(page);
    await untold();
    // It is kept nowhere.
    await page.reload();
    await untold();
    report('made', { password });
    await page.close();
  },

  /** In another browser, what is there already is not made again. */
  async what_is_there_is_gone_on_with(browser) {
    const page = await open(browser, { expected: /status of 4(04|12)/ });
    await signIn(page);
    await go(page, 'First steps');
    await step(page, 'Route');
    await click(page, 'Save and go on');
    await page.getByRole('heading', { name: 'There is a route default already' }).waitFor();
    await click(page, 'Go on with it');
    await step(page, 'Test message');
    await visit(page, 'first-steps?step=account');
    await page.getByText('The account shop is there.').waitFor();
    // What somebody has removed meanwhile is made again.
    const removed = await page.evaluate(async (bearer) => {
      const answer = await fetch('/v1/routes/default', { method: 'DELETE', headers: { Authorization: `Bearer ${bearer}` } });
      return answer.status;
    }, token);
    assert.strictEqual(removed, 200);
    await go(page, 'First steps');
    await step(page, 'Route');
    await page.getByRole('button', { name: 'Save and go on' }).waitFor();
    // What the test of a bound operator finds stays on its card.
    await go(page, 'Operators');
    await click(page, 'Test the connection to up');
    await page.getByRole('heading', { name: 'It is bound already' }).waitFor();
    await click(page, 'Make another connection to up');
    await page.getByRole('heading', { name: 'The connection works' }).waitFor();
    await accessible(page, 'tested operator');
    await click(page, 'Close');
    assert.strictEqual(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Test the connection to up');
    await page.close();
    const theirs = await signedIn(browser, { as: reader });
    assert.strictEqual(await theirs.getByRole('link', { name: 'First steps' }).count(), 0);
    await theirs.close();
  },
};

run(steps, all);
