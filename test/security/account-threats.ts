import { shown, type Threat } from './threat.ts'

const attacks = (...titles: string[]) => shown('account/account-attacks.test.ts', ...titles)
const api = (...titles: string[]) => shown('account/account-api.test.ts', ...titles)
const browser = (...titles: string[]) => shown('browser/account.test.ts', ...titles)

/** Threats to the customers' page (C). */
export const accountThreats: readonly Threat[] = [
  {
    id: 'C1',
    threat: 'keys and sessions read from the ledger',
    answer: 'it stores only hashes of sessions, and nothing of the key that signed in',
    shownBy: [attacks('C1: neither the key nor the session is in the store, only hashes')],
  },
  {
    id: 'C2',
    threat: 'guessed keys and sessions, and a page that floods the ledger with queries',
    answer:
      '401; after twenty wrong ones from an address, 429 except for valid sessions. A key or wallet may make 300 requests a minute; an account’s inference keys share one count, which cannot lock its owner out',
    shownBy: [
      attacks(
        'C2: a caller that guesses keys or sessions must wait, even with the right key',
        'C2: one key signs in twenty times a minute, and another one still does',
        'C2: a session that asks for too much waits',
      ),
    ],
  },
  {
    id: 'C3',
    threat: 'a session id that an attacker chose, or a cookie that leaked to another port',
    answer: 'each sign-in creates new secrets; a request needs both the cookie and a key that only the page has',
    shownBy: [
      attacks(
        'C3: the secrets of a session are new, whatever the browser had, and the former session ends',
        'C3: the cookie alone opens nothing, nor the key, nor halves of two sessions',
      ),
    ],
  },
  {
    id: 'C4',
    threat: 'an abandoned session',
    answer:
      'it ends after half an hour without use, and after twelve hours; one button ends all sessions of the account',
    shownBy: [
      attacks(
        'C4: a session ends after half an hour without use, and after twelve hours however busy it is',
        'C4: signing out ends this session, and signing out everywhere those of the account',
        'C4: an INFERENCE key signs out its own sessions and no others',
      ),
    ],
  },
  {
    id: 'C5',
    threat: 'a session of a key that was revoked or has expired',
    answer: '401 at once, at every process',
    shownBy: [attacks('C5: a session ends with its key: revoked, also by another process, or expired')],
  },
  {
    id: 'C6',
    threat: 'another site that acts with the customer’s session (CSRF)',
    answer: '403 by Sec-Fetch-Site and Origin; only JSON is accepted',
    shownBy: [
      attacks(
        'C6: a request from another site is refused although it has the session',
        'C6: an act with another origin is refused where a browser names no site',
        'C6: a body as "text/plain" is refused: a form of another site can send it',
      ),
    ],
  },
  {
    id: 'C7',
    threat: 'a host name whose DNS points at the service (rebinding)',
    answer: '403 for every host but the one in publicUrl',
    shownBy: [attacks('C7: a request for "evil.example" is refused, the page too')],
  },
  {
    id: 'C8',
    threat: 'the page in a frame (clickjacking), and an injected script or request',
    answer: 'no page may frame it; only its own script runs, and it connects only to its own host',
    shownBy: [
      attacks('C8: /account cannot be framed, cached or given another script'),
      browser('C8: no page has a finding of axe, a complaint or a request elsewhere: light, 1280 px'),
    ],
  },
  {
    id: 'C9',
    threat: 'markup in key labels, model names and refund reasons',
    answer: 'it is shown as text, in tables, on invoices and in CSV files',
    shownBy: [browser('C9: words of others are texts: in a label, a model, a reason, a name')],
  },
  {
    id: 'C10',
    threat: 'a customer’s session at the operators’ console or the API, and an operator’s session on this page',
    answer: '401',
    shownBy: [
      attacks(
        'C10: a customer’s session is nothing at the operators’ address or the API, and an operator’s nothing here',
        'C10: without a session every path of the page’s API answers alike',
      ),
    ],
  },
  {
    id: 'C11',
    threat:
      'a session that asks for another customer’s requests, keys or invoices, or one of an INFERENCE key that asks for its whole account',
    answer:
      'the same answer as for data that does not exist; the session, not the request, decides whose data is shown',
    shownBy: [
      api(
        'C11: an INFERENCE key sees its own calls, and neither balance nor calls of its account',
        'C11: ids of another customer find nothing, with the answer of one that does not exist',
        'C11: POST /account/api/invoice is for ADMIN key',
        'C11: requests refuses {"account":"x"}',
      ),
    ],
  },
  {
    id: 'C12',
    threat: 'a suspended customer who creates keys to continue',
    answer: '403; the account’s calls stay refused',
    shownBy: [api('C12: a suspended customer creates no key')],
  },
  {
    id: 'C13',
    threat: 'a hijacked session that creates keys without end',
    answer: '429 after 20 keys in a minute; the page and the API share the count',
    shownBy: [api('C13: the page and the API together create 20 keys a minute')],
  },
  {
    id: 'C14',
    threat: 'thousands of wallets, which cost nothing to create, that each begin a session',
    answer: '429 after twenty without an account in a minute from one address; a wallet that has paid still signs in',
    shownBy: [
      shown(
        'account/wallet-sign-in.test.ts',
        'C14: wallets without an account, which cost nothing to create, sign in twenty times a minute',
      ),
    ],
  },
]
