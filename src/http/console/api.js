// The admin API: one token, kept while the tab is open and handed to new tabs of the same browser, or a session by OpenID
// Connect, whose cookie no script can read. Every refusal becomes an ApiError whose text is the server's own.

const KEY = "smsc.token";
const BACK = "smsc.back";
/** How long a new tab waits for the others. */
const TABS_MS = 1_000;
/** How long it waits for more answers after the first one. */
const MORE_MS = 100;
const RANK = { read: 0, operate: 1, admin: 2 };

/** Who is signed in. */
export const session = { token: sessionStorage.getItem(KEY), name: null, role: "read" };

const leavers = [];
/** How often somebody has signed in or out here, or has signed out elsewhere. */
let turns = 0;
/** The other tabs of this server: what is said there goes nowhere else, and is kept nowhere. */
const tabs = new BroadcastChannel("smsc.session");

tabs.addEventListener("message", ({ data }) => {
  if (data.kind === "ask" && session.token && session.name) tabs.postMessage({ kind: "token", token: session.token, role: session.role });
  if (data.kind !== "out") return;
  // Also of a token that is being taken over just now.
  turns += 1;
  // Whatever its token: the tab that was left must not take over the rights of this one when it is loaded again.
  if (session.token) signOut("You have signed out in another tab.");
});

/** The token of another tab where somebody is signed in, of several the one with the lowest role; null without one. */
export function askTabs() {
  return new Promise((resolve) => {
    const offers = [];
    let timer = setTimeout(end, TABS_MS);
    function hear({ data }) {
      if (data.kind !== "token") return;
      offers.push(data);
      if (offers.length > 1) return;
      clearTimeout(timer);
      timer = setTimeout(end, MORE_MS);
    }
    function end() {
      tabs.removeEventListener("message", hear);
      const rank = ({ role }) => RANK[role] ?? RANK.admin;
      offers.sort((one, other) => rank(one) - rank(other));
      resolve(offers[0]?.token ?? null);
    }
    tabs.addEventListener("message", hear);
    tabs.postMessage({ kind: "ask" });
  });
}

/** A refusal: its status, the server's text, and all that the server said (problem+json). */
export class ApiError extends Error {
  constructor(status, detail, problem = null) {
    super(detail);
    this.status = status;
    this.problem = problem;
  }
}

/** Calls `leave(reason)` when the token is given back or not accepted any more. */
export function onSignOut(leave) {
  leavers.push(leave);
}

function bearer(token) {
  return { Authorization: `Bearer ${token}` };
}

export function authorization() {
  return session.token ? bearer(session.token) : {};
}

/** What stands on the button of OpenID Connect; null if only tokens sign in, or nobody says. */
export async function askOffer() {
  const answer = await fetch("/oidc").catch(() => null);
  return answer?.ok ? ((await answer.json().catch(() => null))?.label ?? null) : null;
}

/** Remembers the page to which `comeBack` goes after a sign-in elsewhere. */
export function goElsewhere() {
  sessionStorage.setItem(BACK, location.hash);
}

export function comeBack() {
  const hash = sessionStorage.getItem(BACK);
  sessionStorage.removeItem(BACK);
  if (hash && !location.hash) history.replaceState(null, "", hash);
}

/** The name of the token, or of the person who has signed in. */
export function whoIs() {
  return session.name?.replace(/^oidc:(.*)~\w+$/, "$1") ?? "";
}

/** Asks who the token is; throws ApiError 401 for a wrong one. */
export async function signIn(token) {
  await askWho(token);
  sessionStorage.setItem(KEY, token);
}

/**
 * Name and role of a token, or of the session by OpenID Connect without one. Until they are known nothing has changed: the
 * role that is shown is always that of the token that is used.
 */
export async function askWho(token = session.token) {
  const before = turns;
  const { name, role } = await request("GET", "/v1/self", undefined, token ? bearer(token) : {});
  if (turns !== before) throw new ApiError(409, "Somebody has signed in or out here meanwhile. Try again.");
  turns += 1;
  Object.assign(session, { token, name, role: role in RANK ? role : "read" });
}

export async function signOut(reason = null) {
  let said = reason && !session.token ? "The session has ended. Sign in again." : reason;
  // Without a reason it was the person, and then the session ends on the server, too.
  if (!session.token && session.name && reason === null) {
    const answer = await fetch("/oidc/sign-out", { method: "POST" }).catch(() => null);
    if (!answer) said = "The server does not answer: your session may go on in this browser. Close the browser, or sign out again later.";
    else if (!answer.ok) said = "This browser has forgotten the session, but the server could not end it. An administrator can remove it at Tokens.";
  }
  // Without a reason it was the person, who means all tabs.
  if (reason === null) tabs.postMessage({ kind: "out" });
  turns += 1;
  sessionStorage.removeItem(KEY);
  Object.assign(session, { token: null, name: null, role: "read" });
  for (const leave of leavers) leave(said);
}

/** Null when the token may do what needs this role, else why not. */
export function whyNot(role) {
  if (RANK[session.role] >= RANK[role]) return null;
  return `Your token has the role ${session.role}; this needs ${role}.`;
}

/** Whether the token may do what needs this role. */
export function may(role) {
  return whyNot(role) === null;
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);
export const remove = (path) => request("DELETE", path);

/** Replaces what has this version, or makes what is not there yet (null); without a version, whatever is there. */
export const put = (path, body, version) => request("PUT", path, body, condition(version));

function condition(version) {
  if (version === undefined) return {};
  return version === null ? { "If-None-Match": "*" } : { "If-Match": `"${version}"` };
}

/** Orders something, if the version is still this one. */
export const postIf = (path, version) => request("POST", path, undefined, { "If-Match": `"${version}"` });

/** Changes a part of what has this version. */
export const patch = (path, body, version) => request("PATCH", path, body, { "If-Match": `"${version}"` });

/** Removes what has this version. */
export const del = (path, version) => request("DELETE", path, undefined, { "If-Match": `"${version}"` });

async function request(method, path, body, more = {}) {
  let answer;
  try {
    const headers = { ...authorization(), ...more };
    if (body) headers["Content-Type"] = "application/json";
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new ApiError(0, "The SMSC cannot be reached. Check that it runs and that this address is right.");
  }
  const said = await answer.json().catch(() => null);
  if (answer.ok) return said;
  const detail = said?.detail ?? `the server answered ${answer.status}`;
  throw new ApiError(answer.status, detail, said);
}

/** One segment of a path. */
export const segment = encodeURIComponent;

/** What is wrong with a name that is to be a segment, where a browser takes it out; null if nothing is. The server says the same to programs. */
export function wrongInPath(name) {
  return [".", ".."].includes(name) ? `"${name}" cannot be a part of a URL, where it means a folder; choose another name` : null;
}
