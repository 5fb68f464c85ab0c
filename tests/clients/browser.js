// What the scripts that drive the console in a real browser share: pages that complain about nothing, signing in,
// going to a view, waiting, accessibility, and running steps by name.

'use strict';

const assert = require('node:assert');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { report } = require('./common.js');

exports.PATIENCE_MS = 120_000;

/** How a browser is used on the SMSC at `base` with `token`; pictures go to `screenshots`. */
exports.console = ({ base, token, screenshots }) => {
  /** A page of its own; whatever it complains about, or asks of another server, fails the step. */
  async function open(browser, { width = 1280, height = 860, colorScheme = 'light', expected = /^$/ } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: 'en-GB' });
    context.setDefaultTimeout(exports.PATIENCE_MS);
    const page = await context.newPage();
    const wrong = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !expected.test(message.text())) wrong.push(message.text());
    });
    page.on('pageerror', (error) => wrong.push(error.stack));
    context.on('request', (request) => {
      if (!request.url().startsWith(base)) wrong.push(`asked ${request.url()}`);
    });
    await page.goto(base);
    page.close = async () => {
      await context.close();
      assert.deepStrictEqual(wrong, []);
    };
    return page;
  }

  async function signIn(page, given = token) {
    await page.getByLabel('Token').fill(given);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  /** A page of who has signed in, at the overview; `how` is as for `open`. */
  async function signedIn(browser, { as = token, ...how } = {}) {
    const page = await open(browser, how);
    await signIn(page, as);
    await page.getByRole('heading', { name: 'Overview', level: 1, exact: true }).waitFor();
    return page;
  }

  async function go(page, view) {
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view, exact: true }).click();
    await page.getByRole('heading', { name: view, level: 1 }).waitFor();
  }

  /** Goes to an address after the #. */
  function visit(page, hash) {
    return page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
  }

  /** A picture of the page, which is no wider than its window. */
  async function look(page, name) {
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert(wider <= 0, `${name} is ${wider} pixels wider than the window`);
    // The frame stays at the top of the window, and the window is the whole page now.
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true });
  }

  return { open, signIn, signedIn, go, visit, look };
};

/** Waits until `look`, given to the page, is true. */
exports.until = (page, look, argument) => page.waitForFunction(look, argument, { timeout: exports.PATIENCE_MS });

/** The row of a table whose first cell is this name. */
exports.row = (page, name) => page.getByRole('row', { name: new RegExp(`^${name} `) });

/** Waits until the page has shown what it asked for: nothing new comes for a quarter of a second. */
exports.settled = (page) => page.evaluate(() => new Promise((resolve) => {
  const main = document.getElementById('main');
  let quiet = setTimeout(done, 250);
  const watch = new MutationObserver(() => {
    clearTimeout(quiet);
    quiet = setTimeout(done, 250);
  });
  // Figures that move for ever are not waited for.
  const enough = setTimeout(done, 2_000);
  function done() {
    watch.disconnect();
    clearTimeout(quiet);
    clearTimeout(enough);
    resolve();
  }
  watch.observe(main, { childList: true, subtree: true });
}));

/** The input of a key of a resource. */
exports.key = (page, name) => page.locator(`[data-key="${name}"]`).locator('input, select, textarea').first();

/** Has a page believe that nobody looks at it, or that somebody does again. */
exports.hide = (page, isHidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
}, isHidden);

/** Counts the clicks of a page from here on. */
exports.clicks = async (page) => {
  await page.evaluate(() => {
    window.clicks = 0;
    addEventListener('click', (event) => { if (event.isTrusted) window.clicks += 1; }, true);
  });
  return () => page.evaluate(() => window.clicks);
};

/** The list of a kind of resource, as people get there. */
exports.openKind = async (page, kind) => {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Configuration', exact: true }).click();
  await page.getByRole('navigation', { name: 'Kinds' }).getByRole('link', { name: new RegExp(`^${kind}`) }).click();
  await page.getByRole('heading', { name: kind, level: 1 }).waitFor();
};

/** The form of a new one. */
exports.openNew = async (page, kind, link) => {
  await exports.openKind(page, kind);
  await page.getByRole('link', { name: link, exact: true }).click();
  await page.getByRole('button', { name: 'Review changes' }).waitFor();
};

/** Looks at the difference and saves; gives the text of the difference. */
exports.save = async (page, name) => {
  await page.getByRole('button', { name: 'Review changes' }).click();
  const dialog = page.getByRole('dialog');
  const difference = await dialog.locator('.review').innerText();
  // What was said of an earlier change is not taken for this one.
  await page.evaluate(() => document.getElementById('toasts').replaceChildren());
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: `${name} is saved as version` }).first().waitFor();
  return difference;
};

/** Fails with every rule of WCAG 2.2 AA, and of good practice, that the page breaks. */
exports.accessible = async (page, name) => {
  // By the debugger's protocol, which the policy of the page about scripts does not forbid.
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(require('axe-core').source);
  const broken = await page.evaluate(async () => {
    const found = await window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], rules: { 'label-content-name-mismatch': { enabled: true } } });
    return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
  assert.deepStrictEqual(broken, [], name);
};

/** Runs the named steps one after another in a browser; each is reported, and the first that fails ends it. */
exports.run = async (steps, all) => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  for (const step of steps.split(',')) {
    const began = Date.now();
    try {
      await all[step](browser);
    } catch (error) {
      console.error(`${step}: ${error.stack}`);
      process.exitCode = 1;
      break;
    }
    report(step, { ms: Date.now() - began });
  }
  await browser.close();
};
