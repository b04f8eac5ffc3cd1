import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { displayUsd } from '#contract/money.ts'
import { systemClock } from '#contract/time.ts'
import { headBytes, sniffType } from '#contract/wire/media-type.ts'
import { type PageFiles, pageFiles } from '#host/pages/page-files.ts'
import {
  type ListedReceiptView,
  type Notice,
  type PageForms,
  type ReceiptFilter,
  type ReceiptList,
  spendingDays,
} from '#pages/wallet/wire.ts'
import { attestations } from '#toolkit/approval.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import { maxListed } from '#wallet/limits.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { inputFileBytes, keptReceipts } from '../bounds.ts'
import { type OpenScriptPage, openScriptPage, type PageRoute } from '../loopback/script-page.ts'
import { KeptCharges, type ListedReceipt, newestFirst, spendingOf } from '../receipts/listed-receipts.ts'
import type { OwnerWallet } from '../wallet/owner-wallet.ts'
import { asTyped, type WalletPlace } from '../words/typed-commands.ts'
import { type SendBack, sendingBack, wrongForm } from './send-back.ts'
import { type Holdings, holdingsView, walletState } from './wallet-view.ts'

export interface WalletPageOptions extends SendBack {
  ownerWallet: OwnerWallet
  place: WalletPlace
  /** Reads the balances from the chains and the service. */
  holdings(): Promise<Holdings>
  /** Folders that are searched for a call's files, which the call names without a folder. */
  outputFolders: readonly string[]
}

/** Serves the wallet's page to its owner, on this machine. The caller closes the wallet. */
export const openWalletPage = async (options: WalletPageOptions): Promise<OpenScriptPage> =>
  openScriptPage({
    files: await walletPageFiles(),
    routes: { ...reading(options), ...deciding(options) },
    over: asTyped('Run `farebox wallet open` again for a new link.', options.place),
  })

/** The bundle is imported here, so that no server waits for it at its start. */
async function walletPageFiles(): Promise<PageFiles> {
  return pageFiles({
    ...(await import('./page.generated.ts')),
    title: 'farebox wallet',
    noScript:
      '<code>farebox wallet status</code>, <code>receipts</code> and <code>approve</code> do the same in a terminal.',
    icon: '<path d="M4 5h8v6H4z" fill="none" stroke="#fff" stroke-width="1.4"/><circle cx="10" cy="8" r="1" fill="#fff"/>',
  })
}

/** Rows of one page of receipts; on a narrow screen each is a card. A file of them takes more at once. */
const receiptPageRows = { least: 20, most: 1_000 }

function reading({ ownerWallet, place, holdings, sends, outputFolders }: WalletPageOptions): Record<string, PageRoute> {
  const kept = new KeptCharges(ownerWallet.folder)
  return {
    'GET /api/wallet': () => walletState(ownerWallet, place, systemClock.now()),
    'GET /api/holdings': async () => holdingsView(await holdings()),
    async 'GET /api/spending'({ query }) {
      const days = spendingDays.find(each => String(each) === query.get('days')) ?? spendingDays[1]
      const [charges, payments] = [kept.list(), await ownerWallet.receipts(maxListed)]
      const isCut = { charges: charges.length >= keptReceipts, payments: payments.length >= maxListed }
      return spendingOf(charges, payments, { days, nowMs: systemClock.now() }, isCut)
    },
    async 'GET /api/receipts'({ query }) {
      const filter = { kind: query.get('kind') ?? '', state: query.get('state') ?? '', text: query.get('text') ?? '' }
      const from = Number(query.get('from') ?? 0)
      const sent = await sends.list(maxListed)
      const rows = Math.min(Math.max(Number(query.get('rows')) || 0, receiptPageRows.least), receiptPageRows.most)
      return receiptList(newestFirst(await ownerWallet.receipts(maxListed), kept.list(), sent), filter, { from, rows })
    },
    async 'GET /api/image'({ query }) {
      const approval = await ownerWallet.approvals.get(query.get('approval') ?? '')
      const file = approval?.about?.files[Number(query.get('file'))]
      const image = file ? await askedImage(file, outputFolders) : null
      if (!image) throw noImage()
      return new Response(new Uint8Array(image.bytes), { headers: { 'content-type': image.type } })
    },
  }
}

const noImage = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'not-found',
    sentence: 'The file is not an image, was moved, or has changed since the request.',
    nextStep: 'If you are not sure what it shows, deny the request.',
  })

interface Part {
  from: number
  rows: number
}

/** Newest first. */
function receiptList(
  all: readonly ListedReceipt[],
  filter: Required<ReceiptFilter>,
  { from, rows }: Part,
): ReceiptList {
  const matching = all.filter(receipt => fits(receipt, filter))
  const start = Number.isSafeInteger(from) && from >= 0 ? from : 0
  return {
    rows: matching.slice(start, start + rows).map(receiptView),
    total: matching.length,
    from: start,
    pageRows: rows,
  }
}

function fits(receipt: ListedReceipt, { kind, state, text }: Required<ReceiptFilter>): boolean {
  if (kind !== '' && receipt.kind !== kind) return false
  if (state !== '' && receipt.state !== state) return false
  const words = [receipt.id, receipt.what, receipt.model, receipt.tool, receipt.transaction]
  return text === '' || words.some(word => word?.toLowerCase().includes(text.toLowerCase()))
}

const receiptView = ({ whole: _, amount, ...receipt }: ListedReceipt): ListedReceiptView => ({
  ...receipt,
  amount: amount === null ? null : `${amount}`,
  what: hiddenShown(receipt.what),
  model: receipt.model === null ? null : hiddenShown(receipt.model),
  problem: receipt.problem === null ? null : hiddenShown(receipt.problem),
})

/** The owner's actions, each by the function that the terminal also uses. A new action is one more entry. */
function deciding({ ownerWallet, place, by, ...rest }: WalletPageOptions): Record<keyof PageForms, PageRoute> {
  return {
    ...sendingBack({ ...rest, by }),
    async 'POST /api/approvals'({ body }): Promise<Notice> {
      const { id, isApproved, statements } = body as Partial<PageForms['POST /api/approvals']>
      if (typeof id !== 'string' || typeof isApproved !== 'boolean') throw wrongForm()
      const approval = await ownerWallet.approvals.get(id)
      if (isApproved && approval?.facts.kind === 'consent' && !isWhole(statements)) throw notAllStated()
      return { said: ownerWallet.sayAnswer(await ownerWallet.approvals.resolve(id, { isApproved, by })) }
    },
    async 'POST /api/caps'({ body }): Promise<Notice> {
      const { name, usd } = body as Partial<PageForms['POST /api/caps']>
      if (typeof name !== 'string' || typeof usd !== 'string') throw wrongForm()
      const cap = ownerWallet.lowerCap(name, usd.trim())
      return {
        said: `The cap "${cap.of}" is ${displayUsd(cap.amountMicroUsd)}. A running \`farebox mcp\` uses it from its next call on; other processes need a restart.`,
      }
    },
    async 'POST /api/stop'(): Promise<Notice> {
      await ownerWallet.stop(by)
      return { said: 'Stopped: no process that uses this journal signs or sends anything.' }
    },
    async 'POST /api/start'({ body }): Promise<Notice> {
      const { passphrase } = body as Partial<PageForms['POST /api/start']>
      // The session may be hours old, so lifting the stop requires the passphrase.
      if (await ownerWallet.isGuarded()) await ownerWallet.proveOwner(typeof passphrase === 'string' ? passphrase : '')
      await ownerWallet.start()
      return {
        said: asTyped('Started. A file `stop` in a data folder still stops the processes that use that folder.', place),
      }
    },
  }
}

/** A consent has three statements, and the user must tick each. */
const isWhole = (statements: unknown): boolean =>
  Array.isArray(statements) && Object.keys(attestations).every(name => statements.includes(name))

const notAllStated = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'denied',
    sentence: 'No decision was recorded: a consent needs all three statements.',
    nextStep: 'Tick all three, or deny the request.',
  })

/** An image in a call, for the user who decides on the call. */
interface AskedImage {
  type: string
  bytes: Buffer
}

/**
 * Returns the image's bytes, if the file is still what the approval is about. Null if it was changed, moved or is no
 * image.
 */
async function askedImage({ name, sha256 }: AskedFile, outputFolders: readonly string[]): Promise<AskedImage | null> {
  if (name === null || sha256 === undefined) return null
  const paths = isAbsolute(name) ? [name] : outputFolders.map(folder => join(folder, name))
  for (const path of paths) {
    const bytes = await bytesAt(path)
    if (!bytes || createHash('sha256').update(bytes).digest('hex') !== sha256) continue
    const type = sniffType(bytes.subarray(0, headBytes))
    return type?.startsWith('image/') ? { type, bytes } : null
  }
  return null
}

/** Null if there is no file, or one that no call could have sent. */
async function bytesAt(path: string): Promise<Buffer | null> {
  // Does not follow a link that replaced the file, and does not wait for a pipe.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch(() => null)
  if (!file) return null
  try {
    const stat = await file.stat()
    return stat.isFile() && stat.size <= inputFileBytes ? await file.readFile() : null
  } catch {
    return null
  } finally {
    await file.close()
  }
}
