import { byWord, type Command } from '../command.ts'
import { approveRequest, denyRequest } from '../wallet/approve.ts'
import { createWallet } from '../wallet/create-wallet.ts'
import {
  changePassphrase,
  exportWallet,
  moveWallet,
  resolvePayment,
  startWallet,
  stopWallet,
} from '../wallet/manage-wallet.ts'
import { openPage } from '../wallet/open-page.ts'
import { sendMoney } from '../wallet/send-money.ts'
import { showReceipts } from '../wallet/show-receipts.ts'
import { showAddress, showStatus } from '../wallet/show-wallet.ts'

const name = 'farebox wallet'

const usage = `Usage: farebox wallet create [--service URL] [--keychain] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
                             [--json]
       farebox wallet address [--rail base|solana] [--qr | --json] [--data DIR]
       farebox wallet status [--json] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox wallet receipts [--refused] [--json | --csv] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox wallet approve|deny [ID] [--data DIR]
       farebox wallet open [--no-browser] [--data DIR]
       farebox wallet send ADDRESS AMOUNT [--facilitator URL | --print] [--data DIR]
       farebox wallet resolve ID [--data DIR]
       farebox wallet export|passphrase [--data DIR]
       farebox wallet stop|start|move [--data DIR]

create      creates a key for Base and one for Solana, encrypted with a passphrase, and prints their addresses
address     prints the addresses, Base first
status      shows balances, credit at the service, caps and remaining amounts, payees, and pending approvals
receipts    lists recent payments and their outcomes, and charges with verified receipts
approve     shows a pending approval and records your decision; also reverses a denial. Needs a terminal
deny        denies a pending approval. Without ID, both commands take the only pending one
open        opens the wallet's page in your browser, with a link that works once: balances, caps, spending, receipts,
            approvals, and the stop switch. Needs a terminal
send        sends USDC to an address of yours, on Base or Solana; AMOUNT is USD, or all. Shows the transfer, then asks
            for a confirmation and the passphrase. Needs a terminal
resolve     records what you found on the chain for a payment whose outcome is unknown
export      asks for the passphrase and shows the secret keys. Needs a terminal
passphrase  encrypts the keys with a new passphrase. Needs a terminal
stop        stops every process that shares the wallet's journal (its record of payments): nothing more is signed
            or sent
start       lifts the stop, and resumes refills that were paused. Needs a terminal
move        accepts this journal for the wallet's keys on this machine, even an older copy that was restored. Shows
            the difference first. Needs a terminal

  --service URL           ask this service for its payment address, and let the wallet pay it
  --keychain              also keep the keys in the system keychain, so that the assistant needs no passphrase
  --rail NAME             only the address on base or solana
  --qr                    show the address as a QR code
  --passphrase-file FILE  file with the passphrase, readable by you only
  --passphrase-fd N       read the passphrase from this open file descriptor, for example 0 for stdin
  --deny                  with approve: the same as \`deny\`
  --no-browser            only print the link
  --facilitator URL       with send: who settles the transfer and pays the network fee
  --print                 with send, on Base: print the signed transfer, to submit it from another wallet
  --refused               list payments that the wallet refused; with --json, with a signed statement about each
  --json                  print JSON, with amounts as strings of micro-USD
  --csv                   print CSV
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox). \`farebox up\` uses .farebox/agent for its
                          demo, and .farebox/assistant for your assistant`

export const wallet: Command = {
  usage,
  run: byWord(name, {
    create: createWallet,
    address: showAddress,
    status: showStatus,
    receipts: showReceipts,
    approve: approveRequest,
    deny: denyRequest,
    open: openPage,
    send: sendMoney,
    resolve: resolvePayment,
    export: exportWallet,
    passphrase: changePassphrase,
    stop: stopWallet,
    start: startWallet,
    move: moveWallet,
  }),
}
