import { shown, type Threat } from './threat.ts'

/** Threats to the wallet and its owner (W). */
export const walletThreats: readonly Threat[] = [
  {
    id: 'W1',
    threat: 'text that tells the assistant to spend money',
    answer: 'no tool call lifts a cap; untrusted text is fenced, and cannot close its fence',
    shownBy: [
      shown('wallet/decide.test.ts', 'an approval lifts no cap'),
      shown('toolkit/values/untrusted.test.ts', 'no text closes its own frame'),
    ],
  },
  {
    id: 'W2',
    threat: 'a consent or an approval that a model gives on its own',
    answer: 'only the user’s decision counts',
    shownBy: [
      shown('agent/paid-call-approvals.test.ts', 'a consent that did not come from the user is not sent'),
      shown('mcp/listing.test.ts', 'its words are plain, and no argument decides for the user'),
    ],
  },
  {
    id: 'W3',
    threat: 'a service that keeps asking for money after it was paid',
    answer: 'one payment a minute, within the daily and total caps',
    shownBy: [
      shown(
        'wallet/pay.test.ts',
        'a service that keeps asking gets one payment a minute, within the daily cap',
        'a service that takes the money and always says no gets the total at most',
      ),
    ],
  },
  {
    id: 'W4',
    threat: 'a redirect to another host, or plain HTTP to another machine',
    answer: 'nothing signed is sent there',
    shownBy: [
      shown('agent/paid-call.test.ts', 'a redirect to another host carries neither sign-in nor payment there'),
      shown(
        'client/client.test.ts',
        'plain http to another machine, and an address with a password, are refused before anything is sent',
      ),
    ],
  },
  {
    id: 'W5',
    threat: 'a service that wants a sign-in for another site',
    answer: 'the wallet writes the text itself, for the configured service',
    shownBy: [
      shown('wallet/keys.test.ts', 'a sign-in is the wallet’s own text for the configured service, fresh each time'),
    ],
  },
  {
    id: 'W6',
    threat: 'answers that are dropped on purpose, and a wallet that is killed while it pays',
    answer: 'the same bytes are sent again; there is no second signature',
    shownBy: [
      shown('agent/paid-call.test.ts', 'a lost answer to a payment: the same bytes again, one signature, one credit'),
      shown(
        'agent/killed-process.test.ts',
        'killed while paying: the same call continues with the same signed payment',
      ),
    ],
  },
  {
    id: 'W7',
    threat: 'several processes on one wallet',
    answer: 'they share one budget',
    shownBy: [shown('wallet/processes.test.ts', 'eight processes share one budget')],
  },
  {
    id: 'W8',
    threat: 'files that must not be sent, and file names that lead outside the folder',
    answer: 'neither read nor written',
    shownBy: [
      shown(
        'agent/files.test.ts',
        'an image through a link is refused',
        'the folder of keys is not read, even inside an allowed one',
        'a name of a file is ours, whatever the model is called',
      ),
      shown(
        'agent/secret-files.test.ts',
        '.env is not read in an output folder that is the project',
        '.farebox/service/secret is not read in an output folder that is the project',
        'data/chain/keys.json is not read in an output folder that is the project',
        'a hard link to .farebox/agent/wallet.json is not read',
        'a folder that is swapped for a link to secrets between the check and the opening is not read',
        'on Windows, a share that has none of the folders is not looked up, because that would sign in to it',
        'a text that is saved as "../../wallet.json" replaces no file that is there',
      ),
      shown(
        'client/download.test.ts',
        'a file that is not a video is not kept, and an existing file is never replaced',
      ),
    ],
  },
  {
    id: 'W9',
    threat: 'the wallet’s key or passphrase in a log, an error, a record or an answer',
    answer: 'they appear in none',
    shownBy: [
      shown('wallet/keys.test.ts', 'no print of a wallet, its errors or its records holds the key or a passphrase'),
      shown(
        'agent/mcp-command.test.ts',
        'with a wallet and a named payee it pays for a chat; the key is not in its output',
      ),
    ],
  },
  {
    id: 'W10',
    threat: 'a receipt that is forged, belongs to another call, or has another amount than the answer',
    answer: 'kept and reported with the answer, never trusted',
    shownBy: [
      shown(
        'agent/receipts.test.ts',
        'a changed amount',
        'another account’s key',
        'one of another call',
        'one of more than its answer says',
      ),
      shown('wallet/receipts.test.ts', 'is of no receipt: another algorithm', 'is flagged: more than was allowed'),
    ],
  },
  {
    id: 'W11',
    threat: 'a service that always reports low credit to a wallet that refills',
    answer: 'one refill, within the caps; refills then stop until the owner resumes them',
    shownBy: [
      shown(
        'agent/refill.test.ts',
        'is refilled once, and then not before the owner has checked',
        'and neither where it grants a little of it',
        'gets no more than the day allows where it shows each refill once',
      ),
    ],
  },
  {
    id: 'W12',
    threat: 'a browser page, or a program without the token, that calls the tools over HTTP',
    answer: 'Host, Origin and token are checked before the body is read; the token is only in its file',
    shownBy: [
      shown(
        'mcp/http.test.ts',
        'no token',
        'a wrong one',
        'a foreign name that resolves to this machine',
        'a foreign page',
        'a page without an address',
      ),
      shown(
        'agent/mcp-http-command.test.ts',
        'it prints its address and its token’s file; clients with the token are served until it stops',
        'it does not start: an emptied token admits no client',
        'it does not start: a token that others can read',
      ),
    ],
  },
  {
    id: 'W13',
    threat: 'an old copy of the wallet’s folder, or a removed journal',
    answer: 'nothing is signed until the owner accepts the journal, because its caps would allow too much',
    shownBy: [
      shown(
        'wallet/journal-of-key.test.ts',
        'an old copy of the folder resets no cap: restored again and again, it signs nothing more',
        'a copy of any moment of a payment, restored after it, signs no second one',
      ),
      shown('wallet/processes.test.ts', 'eight processes share one budget'),
    ],
  },
  {
    id: 'W14',
    threat: 'a clock that is set ahead, to make a payment valid for a day or to restart the daily cap',
    answer: 'nothing is paid while it differs from the service’s or the chain’s by more than 10 minutes',
    shownBy: [shown('wallet/clock.test.ts', 'a clock that is 25 hours ahead of the service')],
  },
  {
    id: 'W15',
    threat: 'keys of the user or of other servers, while a client’s configuration is edited',
    answer: 'no key is written or shown; others’ entries, a broken file and its mode stay as they are',
    shownBy: [
      shown(
        'cli/install.test.ts',
        'no key of the environment is written, shown or put into a command or a link',
        'a key that a user has written into our entry is not shown',
        'a broken file is left as it is, and the error names it and its line',
        'another server with our name is neither changed nor removed',
      ),
    ],
  },
  {
    id: 'W16',
    threat: 'a model, another web page or another local program that attacks the page that creates a wallet',
    answer:
      'the link works once and appears in no answer; caps cannot exceed those in the environment, no client form asks for a passphrase, and only one wallet is created',
    shownBy: [
      shown(
        'agent/wallet-page.test.ts',
        'it shows the service, whom it pays and the caps, without a script and under a strict policy',
        'a link opens it once; a newer one takes it over from the browser that had it',
        'a form that comes from another site makes nothing',
        'a form that comes from no cookie makes nothing',
        'a cap above that of the environment: it says so, and makes nothing',
        'two processes that make one at the same moment end with one wallet: local, passphrase',
      ),
      shown(
        'mcp/wallet-offer.test.ts',
        'the words for the model never have the link in them',
        'a client with forms alone shows the link in one that takes no text',
      ),
    ],
  },
  {
    id: 'W17',
    threat: 'a model, a library or another program that sends the wallet’s money away',
    answer:
      'only its owner can, in a terminal or on the page opened from one, after a typed confirmation and the passphrase; no tool and no library entry reaches it',
    shownBy: [
      shown(
        'architecture/money-out.test.ts',
        'no tool, MCP server, library entry or proxy reaches the sending of money',
      ),
      shown('wallet/send/recipient.test.ts', 'refused: the token itself'),
      shown('journeys/wallet-send.test.ts', 'without a terminal nothing is signed'),
    ],
  },
  {
    id: 'W18',
    threat: 'another web page, another local program or untrusted text that attacks the wallet’s page',
    answer:
      'the link works once and its token is in no request line; cookie, page key, origin and Host are all needed; text is never treated as markup; only the image that the approval is about is shown',
    shownBy: [
      shown(
        'agent/open-wallet-page.test.ts',
        'the link works once, and a wrong one leaves the right one as it is',
        'a server that is sent the cookie decides nothing',
        'a form of another site decides nothing',
        'a foreign host name that resolves to this machine is refused',
        'the image that a call sends, as long as it is the one that was asked about',
        'of an encrypted wallet is lifted by its passphrase alone',
      ),
      shown(
        'browser/open-wallet-page.test.ts',
        'words of others are texts: in a policy, a prompt, a model’s name, a receipt',
        'another site cannot frame it, read it or decide on it',
      ),
    ],
  },
]
