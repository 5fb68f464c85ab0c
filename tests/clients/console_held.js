// Drives the pages about held messages in a real browser: what needs a look leads there, who may only read commands
// nothing, and one message or all are released or cancelled. Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_held.js STEPS BASE TOKEN SCREENSHOTS READ-TOKEN RELEASED-ID CANCELLED-ID SINCE

'use strict';

const assert = require('node:assert');
const { console: consoleAt, run, settled, until, accessible } = require('./browser.js');

const [steps, base, token, screenshots, reader, released, cancelled, since] = process.argv.slice(2);
const { open, signIn, go, visit, look } = consoleAt({ base, token, screenshots });

const rows = (page) => page.locator('tbody tr').count();
const hasRows = (page, count) => until(page, (wanted) => document.querySelectorAll('tbody tr').length === wanted, count);
const said = (page, text) => page.getByRole('status').filter({ hasText: text }).first().waitFor();

/** The list on a screen and on a phone: accessible, no table wider than its card, and a picture. */
async function pictureOf(page, name) {
  for (const [width, height] of [[1280, 860], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await settled(page);
    await accessible(page, `${name} at ${width}`);
    const isWide = await page.evaluate(() => [...document.querySelectorAll('.card table')].some((one) => one.scrollWidth > one.closest('.card').clientWidth));
    assert(!isWide, `${name}: wider than its card at ${width}`);
    await look(page, `${name}-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

const all = {
  /** Who may only read sees what is held, and commands nothing. */
  async reader_sees_what_is_held(browser) {
    const page = await open(browser);
    await signIn(page, reader);
    await page.getByRole('region', { name: 'Needs a look' }).getByRole('link', { name: /^store: the database went back in time: 53 messages/ }).click();
    await page.getByRole('heading', { name: 'Held messages', level: 1 }).waitFor();
    await said(page, /^53 held$/);
    await page.getByText(/^The database lacks what it had confirmed/).waitFor();
    assert.match(await page.getByRole('link', { name: 'What to do' }).getAttribute('href'), /^\/docs\/runbooks\.md#smscdatabasewentback$/);
    for (const order of [/^Release/, /^Cancel/]) assert.strictEqual(await page.getByRole('button', { name: order }).count(), 0);
    await visit(page, `messages/${released}`);
    await page.getByText(/may have been sent before the database went back in time/).waitFor();
    for (const order of [/^Release/, /^Cancel/]) assert.strictEqual(await page.getByRole('button', { name: order }).count(), 0);
    await page.close();
  },

  async held_in_dark(browser) {
    const page = await open(browser, { colorScheme: 'dark' });
    await signIn(page);
    await go(page, 'Held messages');
    await hasRows(page, 50);
    await pictureOf(page, 'held-dark');
    await visit(page, `messages/${released}`);
    await page.locator('.step', { hasText: 'Held' }).waitFor();
    await pictureOf(page, 'held-message-dark');
    await page.close();
  },

  /** On its own page a message is cancelled. */
  async held_message_says_why(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Held messages');
    await page.getByRole('link', { name: cancelled }).click();
    await page.getByRole('heading', { name: `Message ${cancelled}`, level: 1 }).waitFor();
    await page.locator('.heading .chip', { hasText: 'held' }).waitFor();
    const step = page.locator('.step', { hasText: 'Held' });
    // The server's sentence has the moment in UTC.
    const local = await page.evaluate((iso) => {
      const at = new Date(iso);
      const day = at.toLocaleDateString(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
      return `${day}, ${at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })}`;
    }, since);
    await step.getByText(`it has been held since ${local}, because it may have been sent`).waitFor();
    for (const order of ['Retry now', 'Move']) assert.strictEqual(await page.getByRole('button', { name: order }).count(), 0, order);
    await pictureOf(page, 'held-message');
    await page.getByRole('button', { name: `Cancel ${cancelled}` }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this message?' });
    await dialog.getByText(/never sent. This cannot be undone/).waitFor();
    await accessible(page, 'the question');
    await dialog.getByRole('button', { name: 'Cancel the message' }).click();
    await said(page, 'The message is cancelled');
    await page.locator('.heading .chip', { hasText: 'deleted' }).waitFor();
    await page.close();
  },

  async held_messages_are_ordered_one_by_one_and_all(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Held messages');
    await said(page, /^52 held$/);
    await pictureOf(page, 'held');
    // By keys alone.
    await page.getByRole('button', { name: `Release ${released}` }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Send this message?' });
    await dialog.getByText(/sent twice/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.strictEqual(await rows(page), 50, 'nothing is released');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Release' }).click();
    await said(page, 'The message is released');
    await hasRows(page, 49);
    await said(page, /^51 held$/);
    assert.strictEqual(await page.evaluate(() => document.activeElement.tagName), 'H1', 'the focus is not lost');
    await page.getByRole('button', { name: 'More messages' }).click();
    await hasRows(page, 51);
    // Not everything by accident.
    await page.getByRole('button', { name: 'Cancel all held messages' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel all held messages?' });
    await question.getByText(/^51 messages will end DELETED/).waitFor();
    assert(await question.getByRole('button', { name: 'Cancel all of them' }).isDisabled());
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Release all held messages' }).click();
    await page.getByRole('dialog', { name: 'Send all held messages?' }).getByRole('button', { name: 'Release all' }).click();
    await said(page, '51 messages are released');
    await page.getByText('Nothing is held').waitFor();
    for (const order of ['Release all held messages', 'Cancel all held messages']) assert(await page.getByRole('button', { name: order, includeHidden: true }).isHidden(), order);
    await pictureOf(page, 'held-none');
    await go(page, 'Overview');
    await page.getByRole('region', { name: 'Needs a look' }).getByText('back in time').waitFor({ state: 'detached' });
    await page.close();
  },
};

run(steps, all);
