import type { ShowingTests } from '../threats.ts'

/** Stands for the tests of a file that are named as the rows, which read the names from the page. */
export const namedAsRow = 'named as the row'

/** Which tests of the service and its payments show which rows of `docs/security.md`. */
export const serviceTests: ShowingTests = {
  'access/identity/api-keys.test.ts': {
    'A9: its secret is in no file of the store, and not in what lists show': 'A9',
    'A9: a copy of the database is useless under another server secret': 'A9',
    'A9: ends within a second when another process revokes it': 'A9',
  },
  'access/identity/identify.test.ts': {
    'two headers is refused': 'X13',
    'the older name is taken, both with one value too, and with two values neither': 'X13',
    'A1: 100 uses of one header at once are one success': 'A1 30',
    'A1: a used nonce is refused by every process, for as long as its message is valid': 'A1',
    'A2 another site: DOMAIN_MISMATCH': 'A2',
    'A2 a site before ours: DOMAIN_MISMATCH': 'A2',
    'A2 another port of our host: DOMAIN_MISMATCH': 'A2',
    'whatever a sign-in header says, the answer is 400 or 401': 'A3 33',
    'A4 another timestamp: TIMESTAMP_MISMATCH': 'A4',
    'A4: another address beside the message is refused': 'A4',
    'A5 older than five minutes and the skew: EXPIRED': 'A5',
    'A5 from the future: FUTURE_TIMESTAMP': 'A5',
    'A5 not yet: NOT_BEFORE': 'A5',
    'A6: a test network is refused': 'A6 31',
    'A6: an EVM signature under a Solana chain id is refused': 'A6',
    'A1: a nonce is used once per wallet, so no wallet can use up another wallet’s nonce': 'A8',
    'A13: of an unknown wallet at a blocked address, no signature is verified and no nonce used up': 'A13',
    'is taken with as far ahead as may be': '32',
  },
  'access/identity/signatures.test.ts': {
    'A7: an s beyond the order is refused': 'A7',
    'A7: a second spelling of a key is refused': 'A7',
    'A7: a key …': 'A7',
  },
  'access/identity/trusted-proxies.test.ts': {
    'some dozen characters': 'G20',
    'thousands of characters': 'G20',
    'Forwarded, a quoted value that only looks like a for': 'G20',
    'Forwarded, a for only within a quote': 'G20',
  },
  'access/limits/limit-rules.test.ts': { 'S5: keys of one account share its count': 'S5' },
  'access/limits/windows.test.ts': { 'S6: 500 at once at a limit of 50 are exactly 50': 'S6' },
  'contract/bounded-requests.test.ts': {
    'D13: an answer of two hundred thousand faults has fewer: choices': 'D13',
    'D13: an answer of two hundred thousand faults has fewer: models': 'D13',
  },
  'contract/model-suffix.test.ts': { 'G6: a suffix that is longer than all options is not read': 'G6' },
  'contract/near-names.test.ts': { 'G6: a name that is longer than any': 'G6' },
  'contract/safe-json.test.ts': {
    'no text throws': 'S9',
    'one name said again is always found': 'S9',
    'a member named __proto__ is dropped, however it is spelled': 'S9',
  },
  'engines/chain/json-rpc-node.test.ts': {
    'D7: calls go out under ids of our own, and results come in the order of the calls': 'D7',
  },
  'engines/finished-videos.test.ts': { 'V6: no key goes to a signed address, and to no other host in plain': 'V6' },
  'engines/gguf/check-schemas.test.ts': {
    'D12: many lengths of a schema is refused before a grammar is built': 'D12',
    'D12: a line for the log as a reference of a schema is refused before a grammar is built': 'D12',
  },
  'engines/job-engines.test.ts': {
    'V3: it is in an unknown state (openai)': 'V3',
    'V4: a lost answer, where keys are taken (service, keys true)': 'V4',
    'V4: a lost answer, where they are not (service, keys false)': 'V4',
    'V4: a lost answer (openai, keys false)': 'V4',
    'V6: half a film (service)': 'V6',
  },
  'engines/openai/read-answer.test.ts': {
    'D13: an answer of endless choices is none': 'D13',
    'D13: an answer of endless numbers is none': 'D13',
  },
  'engines/upstreams/upstream-pool.test.ts': {
    'D11: whether an upstream is taken out after failures, where a probe works…': 'D11',
    'D11: after a failure, that caller alone tries the other upstreams first for a while': 'D11',
  },
  'engines/video-media/media-rules.test.ts': {
    'refused: G21: a million and a half frames of one byte each': 'G21',
    'refused: G21: boxes within each other': 'G21',
    'V9: a quote fetches nothing for a caller without credit': 'V9',
  },
  'engines/web/web-pages.test.ts': { 'D10: of too many elements within each other is refused at once…': 'D10' },
  'faults/twins/twins.test.ts': {
    'on evm, however a facilitator fails, every payment is credited once to its payer, and its twins get one answer':
      'X1',
    'on solana, however a facilitator fails, every payment is credited once to its payer, and its twins get one answer':
      'X1',
  },
  'host/media/whole.test.ts': { 'is refused for what it is: heads of frames without their frames': 'G21' },
  'host/signatures/evm-signature.test.ts': { 'A7: …': 'A7' },
  'host/workers/slots.test.ts': {
    'one account never has all the slots, so another begins at once': 'D10',
    'accounts take turns, even if one came first with many tasks': 'D10',
    'an account has a share of the line, which is full for it alone': 'D10',
  },
  'host/workers/task-thread.test.ts': {
    'D10: one account has a share of the places, and others their turn before its next': 'D10',
    'D12: what a package prints on a thread reaches no log': 'D12',
  },
  'ledger/store/sqlite.test.ts': {
    'the last owner neither goes nor becomes less, also where two owners remove each other': 'O17',
  },
  'payments/body-wallet.test.ts': {
    'the verified payer is credited, whatever wallet the body of the request names': '34',
  },
  'payments/confirmations.test.ts': {
    'a transfer in a dropped block is not credited for that block, and is submitted again': 'X11',
    'the completer counts too: one block short is not enough': 'X11',
    'one that another party submitted is picked up and credited later, without another request': '18',
  },
  'payments/contract-wallets.test.ts': {
    'a wallet that burns what gas it gets: 400, nothing moved, no gas spent': 'X15',
    'neither a wallet’s signature nor its owner’s is taken, and its code is not called': 'X15',
    'a wallet that would burn our gas in the transfer: 400, nothing moved, no gas spent': 'X16',
    'one that turns against us after it was checked costs no gas either': 'X16',
  },
  'payments/local-facilitator.test.ts': {
    'above the cap a payment is refused before it is sent, may be retried later, and the operator is warned': 'X16',
    'about a key whose gas runs out, in time': '21',
  },
  'payments/payment-attacks.test.ts': {
    'the same payment in every other spelling is the same payment: one credit, one answer': 'X2',
    '10: another payee accepted': 'X7',
    '11: signed for another payee': 'X7',
    '10: a rail that is not offered': 'X7',
    '29: the flat payload of version 1': 'X7',
    '13: an empty amount': 'X8',
    '13: a hexadecimal amount': 'X8',
    '13: an amount with spaces': 'X8',
    '13: an amount as a JSON number': 'X8',
  },
  'payments/payment-header.test.ts': {
    'only what was signed makes the key: in any spelling, and again after storing': 'X2',
    'another nonce or payer makes another key and another id': 'X2',
    'garbage of any kind is our own 400, never anything else': 'X8',
  },
  'payments/payment-looks.test.ts': {
    'O20: looks of two processes and a round at the same moment credit it once': 'O20',
  },
  'payments/payment-threats.test.ts': { [namedAsRow]: 'X3 X9 X12 X13 X14 X15 X17' },
  'payments/remote-facilitator.test.ts': {
    'success with the hash of a transaction that does not exist credits nothing; the real transfer later does': 'X4',
    'success with the hash of a transfer of the payer to another payee credits nothing; the real transfer later does':
      'X4',
    'success with the hash of a transfer of the payer to us, of a lower amount credits nothing; the real transfer later does':
      'X4',
    'however a facilitator fails after it took a payment, the payer is credited once and never asked for a second one':
      'X5 19',
  },
  'payments/svm-attacks.test.ts': {
    '27: a bit of the signature turned': 'X3',
    '27: the signature of somebody else over the same message': 'X3',
    '27: no signature of the payer': '27',
  },
  'payments/svm-failures.test.ts': {
    '28: a payee without a token account is reported to the operator, and does not make a payment bad': '28',
  },
  'payments/svm-fee-payer-attacks.test.ts': {
    '23: the fee payer as the authority of the transfer': '23',
    '24: a transfer of the fee payer’s SOL': '24',
    '24: a token account whose rent the fee payer pays': '24',
    '25: a price of 5,000,000 for 1,400,000 units': '25',
    '25: one unit more than is paid for': '25',
    '26: a memo that names the fee payer': '26',
    '26: a write of memory by Lighthouse that the fee payer pays for': '26',
    '27: a third signer': '27',
    '27: an address lookup table': '27',
  },
  'payments/svm-settling.test.ts': {
    '3: a ledger that lost the payment finds its transaction by the signature that it would make, and credits it once':
      '3',
    '6, X1: two processes of the same ledger that settle one transaction make one credit': '6',
    '7, X2: any bytes in the place of the fee payer’s signature are the same payment': '7',
    '17: a payer who empties the wallet between check and settlement is refused, and costs us no fee': '17',
    '27, X9: a blockhash that the chain has forgotten is expired': '27',
  },
  'payments/top-up-crashes.test.ts': {
    'X4: a facilitator that lies is not believed': 'X4',
    'a nonce that the facilitator saw used, and our node not yet, rejects nothing': 'X5',
    'expires after validBefore by both clocks, and is then answered as expired': 'X6',
    'attack 17, node open: a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew': '17',
    'attack 17, node plain: a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew': '17',
  },
  'payments/top-up.test.ts': {
    'X1, attacks 1 and 4: ten duplicates at once get ten identical answers and make one transfer': 'X1',
    'X10, attack 18: a payment that another party submitted is credited once': 'X10 18',
    'it is credited even where the payer comes after it has expired': 'X10',
    'what has arrived is what counts: another amount with the same nonce is credited as that amount': 'X10',
    'attack 2: a ledger that knows nothing of a landed payment is caught up from the chain, once': '2',
    'attack 5: twins at two processes of one store get identical answers and make one transfer': '5',
    'X5, attack 19: a transaction that was lost is pending, never a fresh 402, and sent again later': '19',
    'attack 21: a key without gas is reported to the operator, and payments resume by themselves': '21',
    'attack 22: twenty payers at once over one key; the thirteen with funds are credited': '22',
  },
  'payments/two-machines.test.ts': { 'a process that was away for longer than its lease, and then hears …': '5' },
  'payments/x402-attacks.test.ts': {
    '10: another payee, token, network or scheme in the client’s accepted option …': 'X7',
    [namedAsRow]: '1 4 8 9 10 11 12 13 14 15 16 20 29 35',
  },
  'service/accounts/budget-rules.test.ts': {
    'and no change of its period lets it spend the same budget again': 'A11',
    'one without an end gives itself one, and cannot take it back': 'A11',
    'ends an ADMIN key without a budget: 403, and nothing changes': 'A11',
    'what it gives is taken from its own, so that many keys spend no more than one': 'A11',
  },
  'service/accounts/keys.test.ts': {
    "D3: another account's key is never seen, changed or ended": 'D3',
    'D3: a key that is deleted': 'D3',
    'D9: no misspelled period…': 'D9',
  },
  'service/admin.test.ts': {
    'a wrong token makes nothing, and guessing is blocked': 'A10',
    'a command with the token can tell the service from another program, without sending the token': 'A12',
  },
  'service/bodies.test.ts': { 'S10, G7: a reader who stalls': 'S10 G7' },
  'service/body-room.test.ts': {
    'G17: bodies of requests under way have a share of the memory each…': 'G17',
    'G18: operations without credentials': 'G18',
  },
  'service/capabilities/audio/wav-claims.test.ts': {
    'G21: hours of silence at the highest rate are not decoded': 'G21',
  },
  'service/characters.test.ts': { 'D8: shows all of it but its instructions': 'D8' },
  'service/chat-charges.test.ts': {
    'of a hundred calls at once with credit for ten, ten are answered': 'S1',
    'S4: an engine that uses more than the hold': 'S4',
  },
  'service/chat-evasion.test.ts': {
    'whatever an engine calls its output, a caller who leaves pays for it': 'S3',
    'a cheap beginning makes nothing after it cheap': 'S3',
  },
  'service/chat-left.test.ts': {
    'a stream whose reader leaves continues unread, and is charged by the engine’s usage': 'S2',
    'is aborted 30 s after the reader left, and what it made is counted': 'S2',
  },
  'service/chat-named-media.test.ts': { 'D2: files of one request that …': 'D2' },
  'service/chat-sent-media.test.ts': {
    'G23: an MP3 that is cut off is refused before anything is held': 'G23',
    'G23: an MP4 that is cut off is refused before anything is held': 'G23',
    'G23: an MP3 that is said to be a WAV is refused before anything is held': 'G23',
  },
  'service/chat-web-addresses.test.ts': { 'G6: of many addresses that cannot be read, few are looked at': 'G6' },
  'service/chat-web.test.ts': { 'D8: untrusted text neither ends nor begins a line of what the model reads': 'D8' },
  'service/config/read-config.test.ts': {
    'D4: a literal key is told with its place': 'D4',
    'D4: a secret that is too short, without showing it is told with its place': 'D4',
    'D5: an address of figures that others reach needs a token': 'D5',
    'O10: the console listens on loopback alone': 'O10',
  },
  'service/consent.test.ts': { 'V9: no consent is stored for a job that was not accepted': 'V9' },
  'service/crypto-rpc.test.ts': {
    '§14 D7: a method of the node’s administration is refused, reaches no node and costs nothing': 'D7',
    '§14 D7: one bad method in a batch is refused, reaches no node and costs nothing': 'D7',
    '§14 D7: a batch in a batch is refused, reaches no node and costs nothing': 'D7',
  },
  'service/download-attacks.test.ts': {
    'G15: no character of a signature can be another one': 'G15',
    'G15: its time cannot be extended, nor written otherwise': 'G15',
    'G15: it serves no other job, and one of another secret serves none': 'G15',
    'G15: it ends with its day, whatever is asked': 'G15',
    'G15: what comes is a video to be saved, by a name of ours, and leads nowhere': 'V6',
  },
  'service/fetched-bytes.test.ts': {
    'G22: what is fetched for a call counts with its body': 'G22',
    'G22: what arrives counts at once, and a fetch that finds no more room is ended': 'G22',
  },
  'service/form-attacks.test.ts': {
    'D1: more parts than a form may have is refused, and the field named': 'D1',
    'D1: a part with the name of an object’s built-in member is not one': 'D1',
    'D1: a file called …': 'D1',
    'D2: tags without end are read in one pass': 'D2',
    'D2: tags with spaces between them are read in one pass': 'D2',
    'D5: guessing the token of figures is blocked, and no other key is one': 'D5',
  },
  'service/http-attacks.test.ts': {
    'G3: a model begins no header and no answer of its own': 'G3',
    'G5: createChatCompletion refuses nesting that is deeper than any request': 'G5',
    'G5: queueVideo refuses nesting that is deeper than any request': 'G5',
    'G6: options, in the name of a model': 'G6',
    'G6: dots after an address, in a message whose addresses are read': 'G6',
    'G6: spaces before a word, wherever else a text is taken': 'G6',
    'G8: createChatCompletion takes no member for a part of every object': 'G8',
    'G8: nor does the suffix demo-chat:__proto__=1': 'G8',
    'G8: nor the query /models?__proto__=1': 'G8',
    'G11: no header makes an unidentified caller count as another one': 'G11',
    'G11: other keys, and another spelling of a model, are under the same limit': 'G11',
    'G12: of 500 calls at once at a limit of 50 exactly 50 are answered': 'G12',
    'G13: a model is in no line that is logged': 'G13',
    'G13: a path that is not there is in no line that is logged': 'G13',
    'G14: ../../../../etc/passwd leads to no file': 'G14',
  },
  'service/http/body/parse-form.test.ts': { 'D1: no bytes make it throw': 'D1' },
  'service/http/idempotency/key-rules.test.ts': {
    'is given by every key of the account, and to no other account': 'S8',
  },
  'service/jobs/deaf-engine.test.ts': {
    'V2: is asked again, and after a day the job has failed and its charge is back': 'V2',
  },
  'service/jobs/job-places.test.ts': {
    'V10: jobs of another customer, or of another model, begin although one customer’s fill a slow engine': 'V10',
    'small requests alone, once all are large': 'V10',
  },
  'service/large-bodies.test.ts': {
    'G5: a body of more values than any request has is refused by their number: /chat/completions': 'G5',
  },
  'service/limits-rules.test.ts': {
    'X20 failures without an identity block the address, and no identified caller': 'X20',
    'S12 wallets that cost nothing to create share one limit, which a wallet with an account does not': 'S12',
  },
  'service/media/guarded-fetcher.test.ts': {
    'G1: a redirect to a private address is refused as if it had been named': 'G1',
    'G1: what reads as two hosts is the one that would be asked': 'G1',
  },
  'service/media/private-addresses.test.ts': {
    'G1: a name server that changes its mind is asked once, and its second answer counts for nothing': 'G1',
  },
  'service/receipts.test.ts': { 'somebody else gets none, and learns nothing': 'S11' },
  'service/socket-attacks.test.ts': {
    'G3: a length and chunks: one refusal, and what lies behind is not answered': 'G3',
    'G3: what belongs to the connection is not taken for the request’s': 'G3',
    'G4: a bomb of br is not unpacked': 'G4',
    'G4: a body of /api/v1/video/queue that announces more than it may have is not waited for': 'G4',
    'G4: a body in pieces of one byte takes no more memory than its bytes': 'G4',
    'G4: headers without end': 'G4',
    'G7: half a header is cut off in its time': 'G7',
    'G7: so is half a body': 'G7',
    'G7: more connections than there may be are closed unread': 'G7',
  },
  'service/text-parser.test.ts': {
    '§15 D2: a Word document that unfolds to 300 MB is refused, and costs nothing': 'D2',
    'D2 §15 a ZIP whose directory lies about its sizes is measured all the same': 'D2',
  },
  'service/unpublished-members.test.ts': {
    'G19: a template that loops': 'G19',
    'G19: nor one within a published one: of a message of each role': 'G19',
  },
  'service/upstream-attacks.test.ts': {
    'G2: no member of a request chooses who is asked, or with which key': 'G2',
    'G2: and no header of it goes on, the caller’s key least of all': 'G2',
    'G3: no header of an upstream’s answer goes on to the caller': 'G3',
    'D6: a trace hands on nothing of a state that is not text': 'D6',
  },
  'service/upstreams.test.ts': {
    'D5: are served to callers with the token': 'D5',
    'D5: are not served unless configured': 'D5',
    'D5: tell of requests, upstreams, ledger and holds, and of no caller': 'D5',
    'D6: goes on to the upstream under a span of its own, with the request’s id': 'D6',
    'and answers of an open breaker block no account': 'D11',
  },
  'service/video-attacks.test.ts': {
    'V2: a job that runs for three hours is neither refunded nor begun again, and then has its verdict': 'V2',
    'V3: one that never ends fails after a day, and is refunded once': 'V3',
    'V5: of two processes one asks the engine, and one ends the job, whichever it is': 'V5',
  },
  'service/video-transcription.test.ts': { 'G1 the guarded fetcher stands before every private address': 'G1' },
  'service/video.test.ts': {
    'S7: another account’s job does not exist': 'S7',
    '§2.7 a download link expires after 24 hours': 'S7',
    '§2.7 a download address: JSON status only, then the file in ranges, then revoked': 'S7',
    'V1 §3 a failed job is refunded once, together with its failure': 'V1',
    'V2: an engine that throws has given no verdict': 'V2',
    'V8 §3.2 an image needs consent, charges nothing, and passes with it': 'V8',
  },
  'service/wallet-rules.test.ts': {
    '§5 wallet records are the wallet’s own': 'X19 34',
    'A2 for another site: 401': 'A2',
    'A13: wallets that never paid count by address, so that new wallets do not escape the block': 'A13',
    'A1 a sign-in works once': '30',
  },
}
