// Drives the box that finds, Ctrl-K, in a real browser with a thousand accounts: by keyboard alone, by a button on a phone,
// and for everything that somebody may have in hand. Each step is reported in a JSON line.
//
// usage: CHROMIUM=program console_find.js STEPS BASE TOKEN SCREENSHOTS

'use strict';

const assert = require('node:assert');
const { accessible, console: consoleAt, run, until } = require('./browser.js');

const [steps, base, token, screenshots] = process.argv.slice(2);
const { signedIn, go, look } = consoleAt({ base, token, screenshots });

/** Most elements of a page. */
const NODES = 2_500;

const titled = (page, name) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
const box = (page) => page.getByRole('dialog', { name: 'Find' });
const options = (page, name) => page.getByRole('option', { name });

/** Opens the box by keyboard and writes a text. */
async function ask(page, text) {
  await page.keyboard.press('Control+k');
  await box(page).waitFor();
  await page.keyboard.type(text);
}

const all = {
  async everything_is_found_by_keyboard(browser) {
    const page = await signedIn(browser, { expected: /status of 404/ });
    await ask(page, 'shop0999');
    await options(page, /^account shop0999/).waitFor();
    await page.keyboard.press('Enter');
    await titled(page, 'shop0999');
    // Enter takes what is written, also before the answer is there, and not what only begins so: there is an account northern.
    await ask(page, 'north');
    await page.keyboard.press('Enter');
    await titled(page, 'north');
    for (const [text, hash] of [
      ['+44 7700 900123', '#/messages?to=447700900123'],
      ['1234567890123456789', '#/messages/1234567890123456789'],
      ['RTHROTTLED', '#/failures?error=ESME_RTHROTTLED'],
      ['accounts.max_binds', '#/config/accounts'],
      ['Dead letters', '#/dead-letters'],
      ['traffic h', '#/history'],
    ]) {
      await ask(page, text);
      await page.keyboard.press('Enter');
      await until(page, (wanted) => location.hash === wanted, hash);
      await box(page).waitFor({ state: 'detached' });
    }
    await page.close();
  },

  async arrows_choose_and_the_focus_comes_back(browser) {
    const page = await signedIn(browser);
    await go(page, 'Queues');
    const filter = page.getByLabel('Filter queues by name');
    await filter.focus();
    // Also out of a field.
    await ask(page, 'shop');
    await options(page, /^account shop/).nth(4).waitFor();
    assert.strictEqual(await options(page, /^account /).count(), 5, 'five of a thousand');
    const input = box(page).getByRole('combobox', { name: 'Find' });
    assert.strictEqual(await input.getAttribute('aria-expanded'), 'true');
    const active = () => input.getAttribute('aria-activedescendant');
    assert.strictEqual(await active(), 'find-0');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.strictEqual(await active(), 'find-2');
    assert.strictEqual(await page.locator('#find-2').getAttribute('aria-selected'), 'true');
    await page.keyboard.press('ArrowUp');
    assert.strictEqual(await active(), 'find-1');
    assert(await page.evaluate((most) => document.querySelectorAll('*').length <= most, NODES));
    await accessible(page, 'the box with what was found');
    await look(page, 'find-1280');
    await page.keyboard.press('Escape');
    await box(page).waitFor({ state: 'detached' });
    await until(page, () => document.activeElement.getAttribute('aria-label') === 'Filter queues by name');
    // Nothing is found, and said so.
    await ask(page, 'xyzzyx');
    await box(page).getByText('Nothing has this name.').waitFor();
    assert.strictEqual(await input.getAttribute('aria-expanded'), 'false');
    await accessible(page, 'the box with nothing found');
    await page.close();
  },

  /** What is listed is not what is meant once the box is closed, or another page is there. */
  async a_late_answer_leads_nowhere(browser) {
    const page = await signedIn(browser);
    await go(page, 'Queues');
    await go(page, 'Binds');
    await ask(page, 'shop0001');
    await options(page, /^account shop0001/).waitFor();
    await page.route(/\/v1\/find\?text=north/, async (route) => {
      await new Promise((done) => { setTimeout(done, 700); });
      await route.continue();
    });
    const answer = page.waitForResponse(/\/v1\/find\?text=north/);
    await box(page).getByRole('combobox').fill('north');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await box(page).waitFor({ state: 'detached' });
    await answer;
    await page.waitForTimeout(300);
    assert.strictEqual(await page.evaluate(() => location.hash), '#/binds');
    // Back leads to the page before, and the box does not hide it.
    await ask(page, 'first st');
    await options(page, /^page First steps/).waitFor();
    await page.evaluate(() => window.history.back());
    await titled(page, 'Queues');
    await box(page).waitFor({ state: 'detached' });
    await page.close();
  },

  async manual_is_opened(browser) {
    const page = await signedIn(browser);
    await ask(page, 'backup');
    await options(page, /^manual /).first().click();
    await page.waitForURL(/\/docs\/[a-z-]+\.md#/);
    await page.close();
  },

  async a_phone_has_a_button(browser) {
    const page = await signedIn(browser, { width: 390, height: 844 });
    await look(page, 'find-button-390');
    await page.getByRole('button', { name: /^Find/ }).click();
    await box(page).getByRole('combobox').fill('north');
    await options(page, /^operator north/).waitFor();
    await accessible(page, 'the box on a phone');
    await look(page, 'find-390');
    await options(page, /^operator north/).click();
    await titled(page, 'north');
    await page.getByRole('button', { name: /^Find/ }).click();
    await box(page).getByRole('button', { name: 'Close' }).click();
    await box(page).waitFor({ state: 'detached' });
    await until(page, () => document.activeElement.textContent.startsWith('Find'));
    await page.close();
  },
};

run(steps, all);
