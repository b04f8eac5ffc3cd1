import { shown, type Threat } from './threat.ts'

const odd = (...titles: string[]) => shown('operator/queries/operator.test.ts', ...titles)
const matrix = (...titles: string[]) => shown('operator/console/console-matrix.test.ts', ...titles)
const attacks = (...titles: string[]) => shown('operator/console/console-attacks.test.ts', ...titles)

const passkeys = (...titles: string[]) => shown('operator/sign-in/passkeys.test.ts', ...titles)

/** Threats to the operators' console (O). */
export const consoleThreats: readonly Threat[] = [
  {
    id: 'O1',
    threat: 'a console link that is opened twice, late or by two browsers at once, or is read from the ledger',
    answer: 'one browser signs in, within five minutes; the ledger holds only hashes',
    shownBy: [
      attacks(
        'O1: a link works once, and within five minutes',
        'O1: of browsers that spend one link at once, one gets in',
        'O1: neither links nor sessions are in the store, only their hashes',
      ),
      shown(
        'operator/console/sessions-postgres.test.ts',
        'O1: two processes know one session, and one link lets one browser in',
      ),
    ],
  },
  {
    id: 'O2',
    threat: 'guessed links',
    answer: '410; after twenty guesses from one address, 429 for more of them; a right link always works',
    shownBy: [
      attacks(
        'O2: an address that guesses waits; another address does not',
        'O2: "" is not a link',
        'O2: a right link works although others guess at its address, as behind a proxy',
      ),
    ],
  },
  {
    id: 'O3',
    threat: 'a session id that an attacker chose, or a cookie that leaked to another port of the machine',
    answer: 'each sign-in creates new secrets; a request needs both the cookie and a key that only the page has',
    shownBy: [
      attacks(
        'O3: the secrets of a session are new, whatever cookie the browser had',
        'O3: the cookie alone opens nothing, nor the key, nor halves of two sessions',
      ),
    ],
  },
  {
    id: 'O4',
    threat: 'an abandoned session',
    answer: 'it ends after half an hour without use, and after eight hours; one command ends every session',
    shownBy: [
      attacks(
        'O4: a session ends after half an hour without use',
        'O4: a session ends after eight hours, however busy it is',
        'O4: signing out ends this session; an owner or a terminal ends all, and links that were not opened',
      ),
    ],
  },
  {
    id: 'O5',
    threat: 'an operator who exceeds their role',
    answer: '403',
    shownBy: [
      attacks('O5: a role can do what it allows, and no more'),
      matrix(
        'every route has its row here',
        'O5: POST /api/operator/customer.credit is for owner and above',
        'O5: another method, path or letter case does not bypass a route’s role',
      ),
      shown(
        'operator/console/operator-api.test.ts',
        'O5: looking is for every role, helping for support, money for owners',
        'O5: only owners choose a plan, also that of a new customer',
      ),
    ],
  },
  {
    id: 'O6',
    threat: 'another site, or another port of the machine, that acts with the operator’s session (CSRF)',
    answer: '403 by Sec-Fetch-Site and Origin; only JSON is accepted',
    shownBy: [
      attacks(
        'O6: a request from another site is refused although it has the session',
        'O6: an act with another origin is refused where a browser names no site',
        'O6: a body as "text/plain" is refused: a form of another site can send it',
      ),
      matrix(
        'O6: of all sites, origins, hosts and kinds of body only the console’s own page acts',
        'O6: a body that is too long, chunked, an array or no JSON is refused',
      ),
      shown('browser/console.test.ts', 'O6: another site on this machine cannot frame it, read it or act on it'),
    ],
  },
  {
    id: 'O7',
    threat: 'a host name whose DNS points at the console (rebinding)',
    answer: '403 for every host but its own',
    shownBy: [attacks('O7: a request for "evil.example" is refused, the page too')],
  },
  {
    id: 'O8',
    threat: 'the console in a frame (clickjacking), or markup in the data that it shows',
    answer: 'no page may frame it; only its own script runs, and it never turns text into markup (Trusted Types)',
    shownBy: [
      attacks('O8: / cannot be framed, cached or given another script'),
      shown(
        'browser/console.test.ts',
        'O8: words of customers are texts: in a name, an e-mail, a note, a reason, a model',
      ),
    ],
  },
  {
    id: 'O9',
    threat: 'a customer’s key at the console, and an operator’s session at the API',
    answer: '401',
    shownBy: [
      attacks(
        'O9: a customer’s key is nothing here, and an operator’s session nothing at the API',
        'O9: without a session every path of the API answers alike',
      ),
    ],
  },
  {
    id: 'O10',
    threat: 'the console over plain HTTP on an address that other machines can reach',
    answer: 'the service does not start',
    shownBy: [shown('service/config/read-config.test.ts', 'O10: the console listens on loopback alone')],
  },
  {
    id: 'O11',
    threat:
      'hostile values at the console’s API: NUL, unpaired surrogates, wildcards, SQL, prototype keys, numbers in place of text, dates in the year 0',
    answer: 'an answer or a refusal with a reason, on both stores; no crash, and the ledger adds up',
    shownBy: [
      odd(
        'O11: customers answers or refuses every odd value of every member',
        'O11: after all of it the ledger adds up',
      ),
      odd(
        'O11: a member named __proto__ or constructor is refused, and changes no other object',
        'O11: an amount is taken as it is written, or not at all',
        'O11: a search takes % _ and \\ as they are',
      ),
      shown(
        'operator/queries/operator-postgres.test.ts',
        'O11: customers answers or refuses every odd value of every member',
      ),
    ],
  },
  {
    id: 'O12',
    threat: 'a double click, a retry after a lost answer, and two operators who change one customer at once',
    answer: 'one credit for each id, one refund for each request, and a state that matches the audit log',
    shownBy: [
      matrix(
        'O12: a double click credits once; two credits of two dialogs are two',
        'O12: however many refund a request at once, its charge goes back once',
        'O12: suspended and resumed at once, the customer is in the state of the last row of the log',
      ),
      shown(
        'cli/customers.test.ts',
        'a credit with one id is given once, and the second answer says so',
        'a credit names the id with which it may be repeated',
      ),
    ],
  },
  {
    id: 'O13',
    threat:
      'a customer’s text that manipulates an operator’s terminal: control characters, invisible characters, reversed text',
    answer: 'escaped in tables, facts and JSON; names cannot contain them',
    shownBy: [
      shown('cli/customers.test.ts', 'no text of a customer controls the terminal, in a table, a page or JSON'),
    ],
  },
  {
    id: 'O14',
    threat: 'a passkey assertion that is replayed, late, or sent from another browser',
    answer: '401: a challenge is bound to one browser or session, and works once within five minutes',
    shownBy: [
      passkeys(
        'O14: a replayed assertion is refused',
        'O14: an assertion for another browser, or an expired one, is refused',
      ),
    ],
  },
  {
    id: 'O15',
    threat:
      'an assertion or a passkey for another origin or host, without user verification, from a cloned authenticator, or with another key',
    answer: '401, and no such passkey is added',
    shownBy: [
      passkeys(
        'O15: an assertion with another origin is refused',
        'O15: an assertion with a count that does not grow is refused',
        'O15: another key that names the same passkey is refused',
        'O15: a passkey with no check of the user is not added',
        'O15: a challenge for a sign-in or a confirmation cannot add a passkey, and one for adding cannot sign in',
      ),
    ],
  },
  {
    id: 'O16',
    threat: 'guessing at the console’s sign-in, many times at once or at several workers',
    answer:
      '429: after four failures, each further attempt has to wait twice as long, up to 15 minutes; the count is in the ledger',
    shownBy: [
      passkeys(
        'O16: a guesser waits longer each time; another address does not',
        'O16: of simultaneous guesses, one is checked',
      ),
      shown('operator/console/sessions-postgres.test.ts', 'O16: two processes count the tries of one address together'),
    ],
  },
  {
    id: 'O17',
    threat: 'an operator who continues after being removed, reset or demoted; removing the last owner',
    answer: '401 or 403 at once; the last owner stays',
    shownBy: [
      passkeys(
        'O17: an operator who is removed or reset is signed out everywhere, and the passkey is forgotten',
        'O17: a lower role holds at once, for sessions that are open',
        'O17: a link with a lower role than its operator’s adds no passkey, nor does a link without a name',
      ),
      shown(
        'ledger/store/sqlite.test.ts',
        'the last owner neither goes nor becomes less, also where two owners remove each other',
      ),
    ],
  },
  {
    id: 'O18',
    threat: 'a hijacked session that gives away credit or refunds, or creates operators or passkeys',
    answer:
      '403 for more than 100 USD of credit and refunds in an hour and for managing operators, unless the operator signed in or confirmed a passkey in the last five minutes',
    shownBy: [
      passkeys(
        'O18: acts that cannot be taken back need a proof of the last five minutes, and small ones do not',
        'O18: refunds of requests and jobs count together with credits',
        'O18: two processes count the credits of one operator together',
      ),
    ],
  },
  {
    id: 'O19',
    threat:
      'a hijacked session that changes prices or limits or drafts many changes, or an operator’s page that looks for keys in the configuration',
    answer:
      '403 unless the operator signed in or confirmed a passkey in the last five minutes; callers do not wait for a draft; pages and the audit log show prices, limits and the names of settings, and no other value or comment of the file',
    shownBy: [
      shown(
        'cli/serve/settings-file.test.ts',
        'O19: neither the page nor a change shows a key, an address, a path, a prompt or a comment',
        'O19: callers get their turn between the edits of a draft',
      ),
      passkeys('O18: acts that cannot be taken back need a proof of the last five minutes, and small ones do not'),
    ],
  },
  {
    id: 'O20',
    threat: 'a stuck payment that operators check many times at once, so that it is credited twice',
    answer: 'one credit: a check holds the payment’s lease, and credits only what the chain shows',
    shownBy: [
      shown(
        'payments/payment-looks.test.ts',
        'O20: looks of two processes and a round at the same moment credit it once',
      ),
    ],
  },
  {
    id: 'O21',
    threat: 'a hijacked session that spends money at an engine’s provider by trying engines',
    answer:
      '429 after six trials in a minute over all operators and workers; a trial is fixed: a few tokens, one image or four spoken words, and only owners may send one',
    shownBy: [
      shown(
        'operator/console/try-model.test.ts',
        'O21: probes are for owners, limited for all of them together, and only of engines that have one',
        'O21: two processes count the probes together',
      ),
    ],
  },
  {
    id: 'O22',
    threat:
      'guessed passwords and codes, a code that is used again, a search for names that have a password, or a password set by a hijacked session',
    answer:
      '401 after the same time for every mistake, then 429 with waits that double; a code works once; only scrypt hashes and encrypted secrets are stored; setting one needs a sign-in or a confirmation from the last five minutes',
    shownBy: [
      shown(
        'operator/sign-in/password.test.ts',
        ...[
          'O22: a code works once, also for many at the same moment, and none of the past does',
          'O22: a wrong password, a wrong code and an unknown name get the same answer, and wait ever longer',
          'O22: neither the password nor the secret is in the ledger, the log or an answer after the first',
          'O22: setting one needs a recent proof, the operator’s own session, a code, and a form of this session',
        ],
      ),
    ],
  },
  {
    id: 'O23',
    threat: 'a guesser who makes the operator wait by failing in the operator’s name',
    answer:
      'a browser in which the operator signed in before has its own count, so failures elsewhere never delay it; in other browsers, failures count by network address and, after 200 in a day from all addresses, by account, even if attempts succeed in between. A stolen cookie of such a browser is not enough to sign in',
    shownBy: [
      shown(
        'operator/sign-in/password.test.ts',
        ...[
          'O23: guesses from one address delay the operator neither elsewhere nor in a known browser there',
          'O23: guesses from many addresses are limited in total, even if attempts succeed in between, and delay no known browser',
          'O23: a known browser is limited too, and its cookie is of no use to another operator, changed, or after its time',
        ],
      ),
    ],
  },
]
