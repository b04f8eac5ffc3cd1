import { signal } from '@preact/signals'
import { postJson, readJson } from '../kit/api.ts'
import { live } from '../kit/live.ts'
import {
  type HoldingsView,
  type Notice,
  type PageForms,
  type ReceiptFilter,
  type ReceiptList,
  type Spending,
  spendingDays,
  type WalletState,
} from './wire.ts'

/** How often each is read while the page is visible. The journal is local; balances need a chain and the service. */
const everyMs = { wallet: 2_000, holdings: 20_000, spending: 10_000, receipts: 10_000 }

/** Everything that the page shows, read from its server. */
export function walletData() {
  const days = signal<number>(spendingDays[1])
  const filter = signal<ReceiptFilter & { from: number }>({ from: 0 })
  const wallet = live(() => readJson<WalletState>('/api/wallet'), everyMs.wallet)
  const holdings = live(() => readJson<HoldingsView>('/api/holdings'), everyMs.holdings)
  const spending = live(() => readJson<Spending>(`/api/spending?days=${days.value}`), everyMs.spending)
  const receipts = live(() => readReceipts(filter.value), everyMs.receipts)
  return {
    ...{ wallet, holdings, spending, receipts, days, filter },
    /** The outcome of the last form. */
    said: signal(''),
    async send<Name extends keyof PageForms>(name: Name, form: PageForms[Name]): Promise<void> {
      const { said } = await postJson<Notice>(name.slice('POST '.length), form)
      this.said.value = said
      await wallet.refresh()
    },
  }
}

export type WalletData = ReturnType<typeof walletData>

/** At most `rows` rows, or one page of them. */
export const readReceipts = (
  { from, ...filter }: ReceiptFilter & { from: number },
  rows?: number,
): Promise<ReceiptList> => {
  const part = { from: String(from), ...(rows === undefined ? {} : { rows: String(rows) }) }
  return readJson(`/api/receipts?${new URLSearchParams({ ...filter, ...part })}`)
}
