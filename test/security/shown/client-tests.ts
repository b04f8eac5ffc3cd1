import type { ShowingTests } from '../threats.ts'

/** Which tests of the wallet, the agent and the commands show which rows of `docs/security.md`. */
export const clientTests: ShowingTests = {
  'agent/files.test.ts': {
    'an image through a link is refused': 'W8',
    'the folder of keys is not read, even inside an allowed one': 'W8',
    'a name of a file is ours, whatever the model is called': 'W8',
  },
  'agent/killed-process.test.ts': { 'killed while paying: the same call continues with the same signed payment': 'W6' },
  'agent/mcp-command.test.ts': {
    'with a wallet and a named payee it pays for a chat; the key is not in its output': 'W9',
  },
  'agent/mcp-http-command.test.ts': {
    'it prints its address and its token’s file; clients with the token are served until it stops': 'W12',
    'it does not start: an emptied token admits no client': 'W12',
    'it does not start: a token that others can read': 'W12',
  },
  'agent/open-wallet-page.test.ts': {
    'the link works once, and a wrong one leaves the right one as it is': 'W18',
    'a server that is sent the cookie decides nothing': 'W18',
    'a form of another site decides nothing': 'W18',
    'a foreign host name that resolves to this machine is refused': 'W18',
    'the image that a call sends, as long as it is the one that was asked about': 'W18',
    'of an encrypted wallet is lifted by its passphrase alone': 'W18',
  },
  'agent/paid-call-approvals.test.ts': { 'a consent that did not come from the user is not sent': 'W2' },
  'agent/paid-call.test.ts': {
    'a redirect to another host carries neither sign-in nor payment there': 'W4',
    'a lost answer to a payment: the same bytes again, one signature, one credit': 'W6',
  },
  'agent/receipts.test.ts': {
    'a changed amount': 'W10',
    'another account’s key': 'W10',
    'one of another call': 'W10',
    'one of more than its answer says': 'W10',
  },
  'agent/refill.test.ts': {
    'is refilled once, and then not before the owner has checked': 'W11',
    'and neither where it grants a little of it': 'W11',
    'gets no more than the day allows where it shows each refill once': 'W11',
  },
  'agent/secret-files.test.ts': {
    '.env is not read in an output folder that is the project': 'W8',
    '.farebox/service/secret is not read in an output folder that is the project': 'W8',
    'data/chain/keys.json is not read in an output folder that is the project': 'W8',
    'a hard link to .farebox/agent/wallet.json is not read': 'W8',
    'a folder that is swapped for a link to secrets between the check and the opening is not read': 'W8',
    'a text that is saved as "../../wallet.json" replaces no file that is there': 'W8',
    'on Windows, a share that has none of the folders is not looked up, because that would sign in to it': 'W8',
  },
  'agent/wallet-page.test.ts': {
    'it shows the service, whom it pays and the caps, without a script and under a strict policy': 'W16',
    'a link opens it once; a newer one takes it over from the browser that had it': 'W16',
    'a form that comes from another site makes nothing': 'W16',
    'a form that comes from no cookie makes nothing': 'W16',
    'a cap above that of the environment: it says so, and makes nothing': 'W16',
    'two processes that make one at the same moment end with one wallet: local, passphrase': 'W16',
  },
  'architecture/money-out.test.ts': {
    'no tool, MCP server, library entry or proxy reaches the sending of money': 'W17',
  },
  'build/supply-chain.test.ts': {
    'G16: every package comes from the registry, with the hash of its bytes': 'G16',
    'G16: a package that wants to run by being installed is known, and one alone may': 'G16',
    'G16: installing farebox installs one dependency, in one version, and runs no script': 'G16',
  },
  'cli/customers.test.ts': {
    'a credit with one id is given once, and the second answer says so': 'O12',
    'a credit names the id with which it may be repeated': 'O12',
    'no text of a customer controls the terminal, in a table, a page or JSON': 'O13',
  },
  'cli/data-folder.test.ts': { 'A12: another program at the address of a service that was killed': 'A12' },
  'cli/install.test.ts': {
    'no key of the environment is written, shown or put into a command or a link': 'W15',
    'a key that a user has written into our entry is not shown': 'W15',
    'a broken file is left as it is, and the error names it and its line': 'W15',
    'another server with our name is neither changed nor removed': 'W15',
  },
  'cli/serve/serve.test.ts': {
    'D4: what a variable gives is in nothing that --check says, whether the file is whole or not': 'D4',
  },
  'cli/serve/settings-file.test.ts': {
    'O19: neither the page nor a change shows a key, an address, a path, a prompt or a comment': 'O19',
    'O19: callers get their turn between the edits of a draft': 'O19',
  },
  'client/client.test.ts': {
    'plain http to another machine, and an address with a password, are refused before anything is sent': 'W4',
  },
  'client/download.test.ts': { 'a file that is not a video is not kept, and an existing file is never replaced': 'W8' },
  'journeys/wallet-send.test.ts': { 'without a terminal nothing is signed': 'W17' },
  'mcp/http.test.ts': {
    'no token': 'W12',
    'a wrong one': 'W12',
    'a foreign name that resolves to this machine': 'W12',
    'a foreign page': 'W12',
    'a page without an address': 'W12',
  },
  'mcp/listing.test.ts': { 'its words are plain, and no argument decides for the user': 'W2' },
  'mcp/wallet-offer.test.ts': {
    'the words for the model never have the link in them': 'W16',
    'a client with forms alone shows the link in one that takes no text': 'W16',
  },
  'toolkit/values/untrusted.test.ts': { 'no text closes its own frame': 'W1' },
  'wallet/clock.test.ts': { 'a clock that is 25 hours ahead of the service': 'W14' },
  'wallet/decide.test.ts': {
    'no offer makes the wallet pay more than the order, a cap, another payee or another token': 'X18',
    'an approval lifts no cap': 'W1',
  },
  'wallet/journal-of-key.test.ts': {
    'an old copy of the folder resets no cap: restored again and again, it signs nothing more': 'W13',
    'a copy of any moment of a payment, restored after it, signs no second one': 'W13',
  },
  'wallet/keys.test.ts': {
    'a sign-in is the wallet’s own text for the configured service, fresh each time': 'W5',
    'no print of a wallet, its errors or its records holds the key or a passphrase': 'W9',
  },
  'wallet/pay.test.ts': {
    'a service that keeps asking gets one payment a minute, within the daily cap': 'W3',
    'a service that takes the money and always says no gets the total at most': 'W3',
  },
  'wallet/processes.test.ts': { 'eight processes share one budget': 'W7 W13' },
  'wallet/receipts.test.ts': {
    'is of no receipt: another algorithm': 'W10',
    'is flagged: more than was allowed': 'W10',
  },
  'wallet/send/recipient.test.ts': { 'refused: the token itself': 'W17' },
}
