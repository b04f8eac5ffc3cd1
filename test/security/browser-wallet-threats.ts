import { shown, type Threat } from './threat.ts'

const atServer = (...titles: string[]) => shown('account/wallet-sign-in.test.ts', ...titles)
const signingIn = (...titles: string[]) => shown('browser/account-wallet-sign-in.test.ts', ...titles)
const paying = (...titles: string[]) => shown('browser/account-wallet-top-up.test.ts', ...titles)

/** Threats to customers who use a browser's wallet, and to the page that they use it on (B). */
export const browserWalletThreats: readonly Threat[] = [
  {
    id: 'B1',
    threat: 'endless requests for sign-in challenges, also for addresses that contain markup or a line break',
    answer: 'a challenge writes nothing; 400 for anything but an address',
    shownBy: [atServer('B1: a challenge writes nothing, and its nonce is new each time', 'B1: no challenge for …')],
  },
  {
    id: 'B2',
    threat: 'a signed sign-in message that is sent again, many times at once, or to the API as well',
    answer: 'one session; 401 for every other use',
    shownBy: [
      atServer(
        'at the page, however many send it at once',
        'at the page or at the API, not at both',
        'also where the API accepts a header until it expires',
      ),
      signingIn('B2: the same signed message begins a session once'),
    ],
  },
  {
    id: 'B3',
    threat: 'a signature by another account, and guessed signatures',
    answer: '401; after twenty from one address, 429',
    shownBy: [
      atServer(
        'B3: a signature of another wallet, on either chain, begins no session',
        'B3: a caller that guesses signatures must wait',
      ),
      signingIn('B3: a signature of another account begins no session'),
    ],
  },
  {
    id: 'B4',
    threat:
      'a leaked `SIGN-IN-WITH-X` header, or a message for another site, port, page or chain, that is used to begin a session',
    answer: '401: the message must name this page’s own URI; other sites cannot ask for a challenge',
    shownBy: [
      atServer(
        'B4: a header that an agent signed for the API begins no session',
        'B4: a message for another site begins no session',
        'B4: another port of this host begins no session',
        'B4: a message that was signed six minutes ago, or for tomorrow, begins no session',
        'B4: another site can neither ask for a challenge nor begin a session',
      ),
    ],
  },
  {
    id: 'B5',
    threat:
      'a hostile wallet: markup or reversed text in its name or errors, a value that is not an address or a signature, no answer at all',
    answer: 'shown as one short line of plain text, without its icon; refused in the page; the user can stop waiting',
    shownBy: [
      signingIn(
        'B5: markup and reordering characters in a wallet’s name are shown as plain text',
        'B5: an address that is markup is refused in the page',
        'B5: a signature that is an object is refused in the page',
        'B5: a wallet’s own error is quoted as text, short and without control characters',
        'B5: a wallet that never answers can be left',
      ),
    ],
  },
  {
    id: 'B6',
    threat: 'a customer who pays from a wallet and expects the credit on another account',
    answer: 'the page names the account before anything is signed; the server reveals nothing about other accounts',
    shownBy: [
      paying('B6: a key’s customer reads before signing that the credit goes to the wallet’s account'),
      atServer('B6: a customer learns of a wallet only whether it pays for the own account'),
    ],
  },
  {
    id: 'B7',
    threat: 'a wallet that signs with another account, or returns a Solana payment with other contents',
    answer: 'nothing moves: the page compares every byte with the draft, and the service checks the signature',
    shownBy: [
      paying(
        'B7: a signature of another account moves nothing',
        'B7: another amount is never sent',
        'B7: one with a wallet’s guard is never sent',
        'B7: no signature is never sent',
      ),
    ],
  },
  {
    id: 'B8',
    threat:
      'a payment from the page whose answer is lost, for example by a reload, or replaced by a proxy’s own refusal',
    answer: 'the same signed payment is sent again: one transfer, one credit; nothing else is signed until then',
    shownBy: [
      paying(
        'B8: after a lost answer the same signed payment is sent again: one transfer, one credit',
        'B8: after a reload the payment continues, and no other one is offered until its outcome is known',
        'B8: a signature that arrives after its page was left overwrites no open payment',
        'B8: the next user of a tab learns nothing of its open payment, and signs no other one',
        'B8: an answer that is no outcome leaves the payment open, in its own words: too often',
      ),
    ],
  },
]
