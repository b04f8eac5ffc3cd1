import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { RowBar } from '../kit/chart.tsx'
import { DialogForm } from '../kit/dialog.tsx'
import { usd, utcTime } from '../kit/format.ts'
import { type Column, nothing, Table } from '../kit/table.tsx'
import { Words } from '../kit/text.tsx'
import type { WalletData } from './wallet-data.ts'
import type { CapState, WalletState } from './wire.ts'

export function Caps({ wallet, data }: { wallet: WalletState; data: WalletData }): JSX.Element {
  const lowered = useSignal<CapState | null>(null)
  const columns: Column<CapState>[] = [
    { name: 'Cap', show: ({ title, limits }) => <CapName title={title} limits={limits} /> },
    { name: 'Amount', show: ({ amount }) => usd(amount), isNumber: true },
    {
      name: 'Used',
      isNumber: true,
      show: ({ used, amount }) =>
        used === null ? (
          nothing
        ) : (
          <>
            {usd(used)} <RowBar amount={used} most={amount} />
          </>
        ),
    },
    { name: 'Left', show: ({ left }) => (left === null ? nothing : usd(left)), isNumber: true },
    { name: 'Set by', show: ({ setBy }) => setBy ?? 'default' },
    {
      name: 'Change',
      show: cap => (
        <button
          type="button"
          aria-label={`Lower the cap: ${cap.title}`}
          onClick={() => {
            lowered.value = cap
          }}
        >
          Lower…
        </button>
      ),
    },
  ]
  return (
    <section id="caps" aria-labelledby="caps-title">
      <h2 id="caps-title">Caps</h2>
      <p>
        The wallet may still pay <strong>{usd(wallet.left)}</strong>.
        {wallet.moreFromMs !== null && (
          <> From {utcTime(wallet.moreFromMs)} on, it may pay more, up to the total cap.</>
        )}
      </p>
      <Table
        caption="Caps and remaining amounts"
        columns={columns}
        rows={wallet.caps}
        keyOf={({ name }) => name}
        empty=""
      />
      <p class="quiet">
        These are the settings of this terminal; an assistant may have others. A cap that you lower here applies to
        everything that uses this wallet’s folder.
      </p>
      {lowered.value && (
        <LowerCap
          cap={lowered.value}
          data={data}
          close={() => {
            lowered.value = null
          }}
        />
      )}
    </section>
  )
}

function CapName({ title, limits }: Pick<CapState, 'title' | 'limits'>): JSX.Element {
  return (
    <>
      {title} <span class="quiet block">{limits}</span>
    </>
  )
}

function LowerCap({ cap, data, close }: { cap: CapState; data: WalletData; close(): void }): JSX.Element {
  return (
    <DialogForm
      title={`Lower the cap: ${cap.title}`}
      action="Lower it"
      close={close}
      submit={form => data.send('POST /api/caps', { name: cap.name, usd: String(form.get('usd') ?? '') })}
    >
      <label>
        New amount, at most {usd(cap.amount)}
        <input type="text" name="usd" inputMode="decimal" autocomplete="off" required />
      </label>
      <p class="quiet">
        This page can only lower a cap. <Words text={cap.raising} />
      </p>
    </DialogForm>
  )
}
