// Drives the pages of daily work in a real browser: many messages replayed and cancelled with one order, a bind looked
// into and disconnected, a live trace, unmatched receipts, damaged rows, why a message waits, and figures of operators.
// Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_work.js STEPS BASE TOKEN SCREENSHOTS READ-TOKEN WAITING-ID

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { console: consoleAt, row, run, settled, until, accessible } = require('./browser.js');

const [steps, base, token, screenshots, reader, waiting] = process.argv.slice(2);
const { open, signIn, go, visit, look } = consoleAt({ base, token, screenshots });

/** The count that a dialog asks about. */
async function counted(dialog) {
  return Number((await dialog.getByRole('heading').textContent()).match(/[\d,]+/)[0].replaceAll(',', ''));
}

/** Every page on a screen and on a phone: accessible, no table wider than its card, and a picture. */
async function picturesIn(browser, colorScheme) {
  for (const [width, height] of [[1280, 860], [390, 844]]) {
    const page = await open(browser, { width, height, colorScheme });
    await look(page, `sign-in-${width}-${colorScheme}`);
    await signIn(page);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const links = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    const views = links.filter((href) => href.startsWith('#/')).map((href) => href.slice(2));
    assert(views.length >= 19, `${views}`);
    const details = ['messages?operator=held', 'dead-letters?operator=picky', 'trace?operator=up', `messages/${waiting}`];
    await visit(page, 'binds');
    details.push(await page.locator('tbody th a').first().getAttribute('href').then((href) => href.slice(2)));
    for (const view of [...views, ...details]) {
      await visit(page, view);
      await page.locator('.card:visible').first().waitFor();
      await settled(page);
      const attempts = page.locator('td summary').first();
      if (await attempts.count()) await attempts.click();
      await accessible(page, `${view} at ${width}, ${colorScheme}`);
      const wide = await page.evaluate(() => [...document.querySelectorAll('.card table')].filter((one) => one.scrollWidth > one.closest('.card').clientWidth).map((one) => one.caption.textContent));
      assert.deepStrictEqual(wide, [], `${view}: wider than its card at ${width}`);
      // A screen has room for what stands beside each other; a phone has not.
      const beside = await page.evaluate(() => [...document.querySelectorAll('main .columns:has(> :nth-child(2))')].map(({ children: [left, right] }) => right.getBoundingClientRect().left > left.getBoundingClientRect().left));
      assert(beside.every((isBeside) => isBeside === (width === 1280)), `${view} at ${width}: ${beside}`);
      const name = view === `messages/${waiting}` ? 'message' : view.replace(/^binds\/.*/, 'bind').replace(/\W+/g, '-');
      await look(page, `${name}-${width}-${colorScheme}`);
    }
    await page.close();
  }
}

const all = {
  async failures_lead_to_their_messages_and_are_replayed_at_a_rate(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Failures');
    await page.getByText(/messages have failed from/).waitFor();
    const error = page.getByRole('row').filter({ hasText: '11 ESME_RINVDSTADR' });
    await error.getByText('The operator does not accept this number').waitFor();
    await page.getByText('As a table').click();
    await accessible(page, 'failures');
    await look(page, 'failures');
    // A few digits are enough.
    await page.getByLabel('To number, or its first digits').fill('33');
    await page.getByLabel('Divided by').selectOption('country');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'FR', exact: true }).waitFor();
    assert.match(page.url(), /[?&]to=33\*/);
    await page.locator('rect.bar.group-1:not([height="0"])').last().click();
    await page.getByRole('heading', { name: 'Dead letters', level: 1 }).waitFor();
    assert.match(page.url(), /dead-letters\?to=33\*&country=FR&ended_since=.*&ended_until=/);
    await page.getByText(/^\d+( or more)? found$/).waitFor();
    const numbers = await page.locator('td[data-label="To"]').allTextContents();
    assert(numbers.length && numbers.every((number) => number.startsWith('33')), `${numbers}`);
    await page.getByRole('button', { name: 'Replay all found' }).click();
    const dialog = page.getByRole('dialog');
    const replayThem = dialog.getByRole('button', { name: /^Replay \d+$/ });
    await replayThem.waitFor();
    const count = await counted(dialog);
    await dialog.getByLabel('At most per second (optional)').fill('10');
    await accessible(page, 'replay at a rate');
    const began = Date.now();
    await replayThem.click();
    await dialog.getByText(`${count} of ${count} sent again`).waitFor();
    assert(Date.now() - began >= 100 * (count - 10), `${count} in ${Date.now() - began} ms`);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('td[data-label="Replay"] a').first().waitFor();
    await page.close();
  },

  async traffic_history_is_drawn_and_leads_to_failures(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Traffic history');
    // Hours: the current one is shown, too.
    await page.getByLabel('Time', { exact: true }).selectOption('7d');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/range=7d/);
    await page.getByText(/[1-9][\d,]* accepted, [1-9][\d,]* refused/).waitFor();
    const line = await page.locator('path.line.accepted:not(.before)').getAttribute('d');
    assert.match(line, /^M.*L/, 'hours without messages are there');
    await accessible(page, 'traffic history');
    await look(page, 'traffic-history');
    await page.getByRole('link', { name: 'operator:picky', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'ESME_RINVDSTADR' }).getByRole('link', { name: 'Show', exact: true }).click();
    await page.getByRole('heading', { name: 'Failures', level: 1 }).waitFor();
    assert.match(page.url(), /operator=operator%3Apicky&error=ESME_RINVDSTADR/);
    await page.getByText(/[1-9]\d* messages have failed from/).waitFor();
    await page.close();
  },

  async dead_letters_are_replayed_together(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Dead letters');
    // Not everything by accident.
    await page.getByRole('button', { name: 'Replay all found' }).click();
    await page.getByRole('status').filter({ hasText: 'Search for something first' }).waitFor();
    await page.getByLabel('Operator').fill('picky');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText(/^\d+( or more)? found$/).waitFor();
    // What has failed last stands first, with the time of its end.
    const ends = await page.locator('td[data-label="Ended"] time').evaluateAll((all) => all.map((one) => Date.parse(one.dateTime)));
    assert(ends.length > 1 && ends.every((end, at) => at === 0 || end <= ends[at - 1]), ends.join(' '));
    await page.getByRole('button', { name: 'Replay all found' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Replay \d+$/ }).waitFor();
    const count = await counted(dialog);
    assert(count >= 20, `${count} messages`);
    await dialog.getByLabel('Send them to').selectOption('operator:up');
    await dialog.getByRole('button', { name: /^Replay \d+$/ }).click();
    await dialog.getByText(`${count} of ${count} sent again`).waitFor();
    assert.strictEqual(await dialog.getByRole('progressbar').evaluate((bar) => bar.value), count);
    await look(page, 'bulk-replayed');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('td[data-label="Replay"] a').first().waitFor();
    // Nothing is sent twice.
    await page.getByRole('button', { name: 'Replay all found' }).click();
    await page.getByRole('status').filter({ hasText: 'No message of this search can be sent again' }).waitFor();
    await page.close();
  },

  async searches_are_saved_as_csv(browser) {
    const page = await open(browser);
    await signIn(page);
    const save = async () => {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV' }).click();
      return fs.readFileSync(await (await download).path(), 'utf8').trimEnd().split('\r\n');
    };
    await visit(page, 'dead-letters?operator=picky');
    const lines = await save();
    assert.strictEqual(lines[0], 'message,state,error,to,from,sender,queue,accepted,ended,attempts,answer,replayed_as');
    assert(lines.length > 26, `${lines.length} lines`);
    assert.match(lines.find((line) => line.includes('33611223399')), /,REJECTED,11,33611223399,'=1\+1,account:test,operator:picky,/);
    await page.getByRole('status').filter({ hasText: `dead-letters.csv has ${lines.length - 1} rows` }).waitFor();
    // A file has an end, and says so.
    const row = { id: '1', state: 'DELIVERED', to: '+44770', from: 'a,"b"', final: null };
    const answer = { status: 200, contentType: 'application/json', body: JSON.stringify({ messages: Array(1_000).fill(row), next_before: '1' }) };
    await page.route(/limit=1000/, (route) => route.fulfill(answer));
    await visit(page, 'messages');
    const cut = await save();
    assert.strictEqual(cut.length, 100_001);
    assert.strictEqual(cut[1], '1,DELIVERED,,+44770,"a,""b""",,,,,,,');
    await page.getByText('Only the newest 100,000 rows are saved').waitFor();
    await look(page, 'messages-cut');
    // It can be stopped.
    await page.unroute(/limit=1000/);
    await page.route(/limit=1000/, (route) => setTimeout(() => route.fulfill(answer), 200));
    await page.getByRole('button', { name: 'CSV' }).click();
    await page.getByText('1,000 rows', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped, nothing is saved').waitFor();
    await page.getByRole('button', { name: 'CSV' }).waitFor();
    await page.close();
  },

  async waiting_messages_are_cancelled_together(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Messages');
    await page.getByLabel('Operator or queue that it is in').fill('held');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText(/^\d+( or more)? found$/).waitFor();
    await page.getByRole('button', { name: 'Cancel all that wait' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Cancel \d+$/ }).waitFor();
    const count = await counted(dialog);
    assert(count >= 20, `${count} messages`);
    // Nothing happens without a yes.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel all that wait' }).click();
    await dialog.getByRole('button', { name: /^Cancel \d+$/ }).click();
    await dialog.getByText(`${count} of ${count} cancelled`).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('td[data-label="State"]').filter({ hasText: 'deleted' }).first().waitFor();
    await page.close();
  },

  async purge_says_how_many(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Queues');
    await row(page, 'operator:held').getByText('More', { exact: true }).click();
    await row(page, 'operator:held').getByRole('button', { name: 'Purge operator:held' }).click();
    await page.getByRole('dialog').getByText(/^\d+ messages? waits? here/).waitFor();
    await page.keyboard.press('Escape');
    await page.close();
  },

  async message_says_why_it_waits(browser) {
    const page = await open(browser);
    await page.goto(`${base}#/messages/${waiting}`);
    await signIn(page);
    await page.getByText('operator:held is suspended by').waitFor();
    await look(page, 'message-waits');
    await page.close();
  },

  async trace_follows_an_operator_and_stops(browser) {
    const page = await open(browser, { expected: /status of 404/ });
    await signIn(page);
    await go(page, 'Trace');
    await page.getByLabel('Whom').selectOption('operator');
    await page.getByLabel('Number, system_id or operator id').fill('nobody');
    await page.getByRole('button', { name: 'Trace', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'nobody' }).waitFor();
    await page.getByLabel('Number, system_id or operator id').fill('up');
    await page.getByRole('button', { name: 'Trace', exact: true }).click();
    const step = (name) => page.getByRole('row').filter({ hasText: name }).first().waitFor();
    await step('accepted');
    await step('attempt 1');
    await step('DELIVERED');
    await page.getByText(/ends by itself in 4:/).waitFor();
    await look(page, 'trace-runs');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/^Stopped/).waitFor();
    const rows = () => page.locator('tbody tr').count();
    const before = await rows();
    await page.waitForTimeout(1500);
    assert.strictEqual(await rows(), before, 'nothing comes any more');
    // The address of the page is the trace.
    assert.match(page.url(), /operator=up/);
    await page.close();
  },

  async bind_is_looked_into_and_disconnected(browser) {
    const page = await open(browser);
    await signIn(page);
    await go(page, 'Binds');
    await page.getByRole('link', { name: 'up', exact: true }).first().click();
    await page.getByRole('heading', { name: /^up \d+\/\d+$/ }).waitFor();
    await page.locator('td', { hasText: 'submit_sm_resp' }).first().waitFor();
    assert.strictEqual(await page.locator('td[data-label="Text"]').filter({ hasText: /\S/ }).count(), 0);
    await page.getByLabel('with texts').check();
    await page.locator('td[data-label="Text"]').filter({ hasText: /\S/ }).first().waitFor();
    await look(page, 'bind');
    await page.getByRole('button', { name: /^Disconnect bind/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('status').filter({ hasText: 'It is being unbound' }).waitFor();
    await page.locator('td', { hasText: 'unbind' }).first().waitFor();
    await page.close();
  },

  async unmatched_receipt_is_matched_or_dropped(browser) {
    const page = await open(browser, { expected: /status of 4/ });
    await signIn(page);
    await go(page, 'Unmatched receipts');
    const first = page.locator('tbody tr').first();
    await first.getByRole('button', { name: /^Match/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Which message is it about?' });
    await dialog.getByLabel('Message id').fill('123');
    await dialog.getByRole('button', { name: 'Match' }).click();
    // Beside the field, not only at the edge.
    await dialog.getByRole('alert').filter({ hasText: 'there is no message 123' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await look(page, 'receipts');
    const count = await page.locator('tbody tr').count();
    await first.getByRole('button', { name: /^Drop/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByRole('status').filter({ hasText: 'The receipt is dropped' }).waitFor();
    await until(page, (before) => document.querySelectorAll('tbody tr').length === before - 1, count);
    await page.close();
  },

  async damaged_rows_are_forgotten_one_by_one_and_all(browser) {
    const page = await open(browser);
    await signIn(page);
    await page.getByRole('region', { name: 'Needs a look' }).getByRole('link', { name: /^store: 51 rows are damaged/ }).click();
    await page.getByRole('heading', { name: 'Damaged rows', level: 1 }).waitFor();
    await page.getByRole('status').filter({ hasText: '50 or more found' }).waitFor();
    const row = page.locator('tbody tr').first();
    await row.getByText('4477*****123').waitFor();
    await accessible(page, 'damaged');
    await look(page, 'damaged');
    await page.setViewportSize({ width: 390, height: 844 });
    await settled(page);
    await accessible(page, 'damaged on a phone');
    assert(await page.evaluate(() => document.querySelector('.card table').scrollWidth <= document.querySelector('.card table').closest('.card').clientWidth), 'wider than its card');
    await look(page, 'damaged-390');
    await page.setViewportSize({ width: 1280, height: 860 });
    // By keys alone.
    await row.getByRole('button', { name: 'Forget row 51 of msg' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Forget this row?' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.strictEqual(await page.locator('tbody tr').count(), 50, 'nothing is forgotten');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('status').filter({ hasText: 'The row is forgotten' }).waitFor();
    await until(page, () => document.querySelectorAll('tbody tr').length === 49);
    await page.getByRole('button', { name: 'More rows' }).click();
    await until(page, () => document.querySelectorAll('tbody tr').length === 50);
    await page.getByLabel('Message id, or number of a row').fill('7');
    await page.keyboard.press('Enter');
    await until(page, () => document.querySelectorAll('tbody tr').length === 1);
    await visit(page, 'damaged');
    await page.getByRole('button', { name: 'Forget all damaged rows' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget all' }).click();
    await page.getByRole('status').filter({ hasText: '50 rows are forgotten' }).waitFor();
    await page.getByText('Nothing is damaged').waitFor();
    await look(page, 'damaged-none');
    await page.close();
  },

  /** A fifth of all is throttled: seen on the first page, with what to do. */
  async throttling_is_seen_without_opening_anything(browser) {
    const page = await open(browser);
    await signIn(page);
    const box = page.getByRole('region', { name: 'Needs a look' });
    const said = box.getByRole('listitem').filter({ hasText: /operator fussy: \d+ % of the attempts of the last minute were throttled/ });
    await said.waitFor();
    const first = await page.evaluate(() => document.querySelector('main > section:not([hidden])').getAttribute('aria-labelledby'));
    assert.strictEqual(first, 'attention', 'it stands first');
    await row(page, 'fussy').locator('.bad-figure').waitFor();
    await look(page, 'overview-throttled');
    assert.match(await said.getByRole('link', { name: /^What to do/ }).getAttribute('href'), /^\/docs\/runbooks\.md#smscoperatorthrottling$/);
    await said.getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Operators', level: 1 }).waitFor();
    const card = page.getByRole('region', { name: 'Operator fussy' });
    await card.locator('.bad-figure').waitFor();
    await card.locator('.spark').first().waitFor();
    await page.close();
  },

  /** Who may only read is shown no command, no text and no trace. */
  async reader_sees_no_text_and_commands_nothing(browser) {
    const page = await open(browser);
    await signIn(page, reader);
    await go(page, 'Binds');
    await page.getByRole('link', { name: 'up', exact: true }).first().click();
    await page.locator('td', { hasText: 'submit_sm_resp' }).first().waitFor();
    assert(await page.getByLabel('with texts').isHidden());
    assert.strictEqual(await page.getByRole('button', { name: /^Disconnect/ }).count(), 0);
    await go(page, 'Dead letters');
    assert.strictEqual(await page.getByRole('button', { name: 'Replay all found' }).count(), 0);
    await go(page, 'Damaged rows');
    assert.strictEqual(await page.getByRole('button', { name: /^Forget/ }).count(), 0);
    await go(page, 'Messages');
    assert.strictEqual(await page.getByRole('button', { name: 'Cancel all that wait' }).count(), 0);
    assert.strictEqual(await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Trace' }).count(), 0);
    await visit(page, 'trace?operator=up');
    await page.getByText('Trace needs the role operate').waitFor();
    await page.close();
  },

  every_page_has_its_picture_in_light: (browser) => picturesIn(browser, 'light'),
  every_page_has_its_picture_in_dark: (browser) => picturesIn(browser, 'dark'),

  /** Those of docs/images: a window that shows what the text is about, once the graph of five minutes is full. */
  async pictures_of_the_manual(browser) {
    const page = await open(browser, { width: 1200 });
    const picture = async (name, height) => {
      await page.setViewportSize({ width: 1200, height });
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: path.join(screenshots, `manual-${name}.png`) });
    };
    await signIn(page);
    await page.getByText(/oldest [6-9] min/).waitFor({ timeout: 600_000 });
    await picture('overview', 980);
    await go(page, 'Binds');
    await page.getByRole('link', { name: 'up', exact: true }).first().click();
    await page.locator('td', { hasText: 'submit_sm_resp' }).first().waitFor();
    await picture('bind', 620);
    await visit(page, 'trace?operator=up');
    await page.getByRole('row').filter({ hasText: 'DELIVERED' }).first().waitFor();
    await settled(page);
    await picture('trace', 620);
    await visit(page, 'messages?operator=fussy&state=DELIVERED');
    await page.locator('tbody th a').first().click();
    await page.getByText('Receipt acknowledged').waitFor();
    await picture('message', 560);
    await page.close();
  },
};

run(steps, all);
