// Signs in to the console by OpenID Connect in a real browser, and attacks it; reports each step in a JSON line.
//
// usage: CHROMIUM=program oidc.js STEPS BASE ISSUER TOKEN SCREENSHOTS [NODES]

'use strict';

const assert = require('node:assert');
const http = require('node:http');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { report } = require('./common.js');

const [steps, base, issuer, token, screenshots, nodes] = process.argv.slice(2);
const PATIENCE_MS = 120_000;
const SESSION = 'smsc_session';
const UNDER_WAY = 'smsc_sign_in';

async function open(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB' });
  context.setDefaultTimeout(PATIENCE_MS);
  return context.newPage();
}

/** Goes through the issuer's pages as somebody. */
async function signIn(page, login, hash = '') {
  await page.goto(`${base}${hash}`);
  await page.getByRole('link', { name: 'Sign in with the tests' }).click();
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

async function cookie(page, name) {
  return (await page.context().cookies()).find((one) => one.name === name);
}

/** A request with this session, as a program could make it that has stolen the cookie. */
function ask(url, session, { method = 'GET', origin, ...headers } = {}) {
  const all = { Cookie: `${SESSION}=${session}`, ...headers };
  if (origin) all.Origin = origin;
  return fetch(url, { method, headers: all, redirect: 'manual' });
}

/** Where a browser without cookies is sent, and the cookie it gets. */
async function begin(at = base) {
  const answer = await fetch(`${at}oidc/sign-in?return=https://evil.example/&redirect_uri=https://evil.example/`, { redirect: 'manual' });
  assert.strictEqual(answer.status, 303);
  return { to: new URL(answer.headers.get('location')), cookie: answer.headers.get('set-cookie').split(';')[0] };
}

async function callback(query, cookies, at = base) {
  const answer = await fetch(`${at}oidc/callback?${query}`, { headers: { Cookie: cookies }, redirect: 'manual' });
  return { status: answer.status, text: await answer.text(), location: answer.headers.get('location'), cookies: answer.headers.getSetCookie() };
}

/** A load balancer that gives each request to the next node. */
function balance(to, port) {
  let turn = 0;
  const server = http.createServer((request, response) => {
    const { method, headers, url } = request;
    const passed = http.request(new URL(url, to[turn++ % to.length]), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(response);
    });
    request.pipe(passed);
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
  });
  return server.listen(port, '127.0.0.1');
}

/** A session of this person, taken out of a browser. */
async function sessionOf(browser, login) {
  const page = await open(browser);
  await signIn(page, login);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  const { value } = await cookie(page, SESSION);
  await page.context().close();
  return value;
}

const all = {
  async in_and_out(browser) {
    const page = await open(browser);
    await page.goto(base);
    await page.getByRole('link', { name: 'Sign in with the tests' }).waitFor();
    await page.screenshot({ path: path.join(screenshots, 'sign-in.png') });
    await signIn(page, 'jane:staff,noc', '#/queues');
    // Where she wanted to go, as who she is, with the higher of her roles.
    await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
    await page.getByText('jane · operate').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.screenshot({ path: path.join(screenshots, 'signed-in.png') });
    const session = await cookie(page, SESSION);
    assert.deepStrictEqual([session.httpOnly, session.sameSite, session.secure, session.path], [true, 'Lax', false, '/']);
    assert.strictEqual(await cookie(page, UNDER_WAY), undefined);
    assert.strictEqual(await page.evaluate(() => document.cookie), '');
    assert.strictEqual(await page.evaluate(() => sessionStorage.length), 0);
    // A page of the console may change something, as far as the role goes.
    const post = (path) => page.evaluate(async (to) => (await fetch(to, { method: 'POST' })).status, path);
    assert.strictEqual(await post('/v1/queues/operator:up/suspend'), 200);
    assert.strictEqual(await post('/v1/queues/operator:up/resume'), 200);
    assert.strictEqual(await post('/v1/tokens'), 403);
    await page.reload();
    await page.getByText('jane · operate').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with the tests' }).waitFor();
    await page.waitForFunction(async () => (await fetch('/v1/self')).status === 401);
    assert.strictEqual(await cookie(page, SESSION), undefined);
    // It has ended for whoever has a copy, too.
    assert.strictEqual((await ask(`${base}v1/self`, session.value)).status, 401);
    await page.context().close();
  },

  async nobody_without_a_role(browser) {
    for (const login of ['bob', 'eve:others,Staff']) {
      const page = await open(browser);
      await signIn(page, login);
      await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
      const text = await page.getByRole('alert').textContent();
      assert.match(text, /none of your groups \(groups\) has a role here/);
      assert.strictEqual(await cookie(page, SESSION), undefined);
      await page.screenshot({ path: path.join(screenshots, 'no-role.png') });
      await page.getByRole('link', { name: 'To the sign-in' }).click();
      await page.getByLabel('Token').waitFor();
      await page.context().close();
    }
  },

  async forged_answers(browser) {
    const began = await begin();
    assert.strictEqual(began.to.origin, new URL(issuer).origin);
    assert.strictEqual(began.to.searchParams.get('redirect_uri'), `${base}oidc/callback`);
    assert.strictEqual(began.to.searchParams.get('code_challenge_method'), 'S256');
    assert.strictEqual(began.to.href.includes('evil.example'), false);
    const state = began.to.searchParams.get('state');
    for (const [query, cookies, status] of [
      [`state=${state}&code=x`, '', 400],
      [`state=${state}&code=x`, (await begin()).cookie, 400],
      ['state=&code=x', `${UNDER_WAY}=..`, 400],
      [`state=${state}x&code=x`, began.cookie, 400],
      [`state=${state}&code=x&iss=https%3A%2F%2Fevil.example`, began.cookie, 400],
      [`state=${state}&code=guessed`, began.cookie, 403],
      [`state=${state}&error=%3Cimg%20src%3Dx%3E`, began.cookie, 403],
    ]) {
      const answer = await callback(query, cookies);
      assert.strictEqual(answer.status, status, query);
      assert.strictEqual(answer.text.includes('<img src=x>'), false);
      assert.strictEqual(answer.cookies.some((one) => one.startsWith(`${SESSION}=`)), false);
    }
    // A code counts once, also for the browser that it was meant for.
    const page = await open(browser);
    let seen;
    page.on('request', (request) => {
      if (request.url().includes('/oidc/callback')) seen = request;
    });
    await signIn(page, 'jane:noc');
    await page.getByText('jane · operate').waitFor();
    const { cookie: sent } = await seen.allHeaders();
    const again = await callback(new URL(seen.url()).search.slice(1), sent);
    assert.strictEqual(again.status, 403);
    assert.match(again.text, /invalid_grant/);
    await page.context().close();
  },

  async foreign_sessions(browser) {
    for (const wrong of ['smsc_0123456789012345678901234567890123456789012', 'x', token]) {
      assert.strictEqual((await ask(`${base}v1/self`, wrong)).status, 401, wrong);
    }
    const session = await sessionOf(browser, 'jane:noc');
    assert.strictEqual((await ask(`${base}v1/self`, session)).status, 200);
    // A session is no token, and a token no session.
    const bearer = await fetch(`${base}v1/self`, { headers: { Authorization: `Bearer ${session}` } });
    assert.strictEqual(bearer.status, 401);
    const made = await fetch(`${base}v1/tokens`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: 'ci', role: 'admin' }),
    });
    const { secret } = await made.json();
    assert.strictEqual((await ask(`${base}v1/self`, secret)).status, 401);
    // Other sites may send the cookie, and change nothing with it.
    const pause = `${base}v1/queues/operator:up/suspend`;
    const own = base.replace(/\/$/, '');
    for (const origin of [undefined, 'null', 'https://evil.example', `${own}.evil.example`, own.replace('http:', 'https:'), `${own}0`]) {
      const answer = await ask(pause, session, { method: 'POST', origin });
      assert.strictEqual(answer.status, 403, origin);
      assert.match((await answer.json()).type, /foreign-origin/);
    }
    assert.strictEqual((await ask(`${base}oidc/sign-out`, session, { method: 'POST', origin: 'https://evil.example' })).status, 403);
    assert.strictEqual((await ask(`${base}v1/self`, session)).status, 200);
    assert.strictEqual((await ask(pause, session, { method: 'POST', origin: own })).status, 200);
  },

  async any_node(browser) {
    const balancer = balance(nodes.split(','), Number(new URL(base).port));
    const page = await open(browser);
    // What one node has begun, another finishes; and the session opens every node.
    await signIn(page, 'jane:noc');
    await page.getByText('jane · operate').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const { value } = await cookie(page, SESSION);
    for (const node of nodes.split(',')) assert.strictEqual((await ask(`${node}v1/self`, value)).status, 200, node);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    for (const node of nodes.split(',')) {
      while ((await ask(`${node}v1/self`, value)).status !== 401) await new Promise((done) => setTimeout(done, 200));
    }
    await page.context().close();
    balancer.closeAllConnections();
    balancer.close();
  },

  async ended(browser) {
    const page = await open(browser);
    await signIn(page, 'jane:noc');
    await page.getByText('jane · operate').waitFor();
    report('signed in', {});
    // Somebody with the role removes it.
    await page.getByLabel('Token').waitFor();
    await page.getByRole('alert').filter({ hasText: 'The session has ended. Sign in again.' }).waitFor();
    await page.context().close();
  },

  async issuer_is_away(browser) {
    const page = await open(browser);
    await page.goto(base);
    await page.getByRole('link', { name: 'Sign in with the tests' }).click();
    await page.getByRole('alert').filter({ hasText: 'the tests does not answer as it should' }).waitFor();
    await page.screenshot({ path: path.join(screenshots, 'issuer-away.png') });
    await page.getByRole('link', { name: 'To the sign-in' }).click();
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.context().close();
  },
};

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  for (const step of steps.split(',')) {
    try {
      await all[step](browser);
    } catch (error) {
      console.error(`${step}: ${error.stack}`);
      process.exitCode = 1;
      break;
    }
    report(step, {});
  }
  await browser.close();
})();
