import { useSignalEffect } from '@preact/signals'
import { type JSX, render } from 'preact'
import { useMemo } from 'preact/hooks'
import { keptIn, openSession, refusedOf } from '../kit/api.ts'
import { Opening, RefusedNote, SlowNote } from '../kit/dialog.tsx'
import { pageEnd } from '../kit/live.ts'
import { Words } from '../kit/text.tsx'
import { Approvals } from './approvals.tsx'
import { Balances } from './balances.tsx'
import { Caps } from './caps.tsx'
import { Receipts } from './receipts.tsx'
import { SpendingReport } from './spending.tsx'
import { StopNotice, StopSwitch } from './stop-switch.tsx'
import { walletData } from './wallet-data.ts'

/** The whole page, with pending approvals first. To add an action, add a section. */
function WalletPage(): JSX.Element {
  const data = useMemo(walletData, [])
  const wallet = data.wallet.value.value
  useSignalEffect(() => {
    const waiting = data.wallet.value.value?.approvals.length ?? 0
    document.title = waiting > 0 ? `(${waiting}) farebox wallet` : 'farebox wallet'
  })
  return (
    <>
      <header class="top">
        <h1>farebox wallet</h1>
        <nav aria-label="Sections">
          {sections.map(([id, title]) => (
            <a key={id} href={`#${id}`}>
              {title}
              {id === 'approvals' && wallet && wallet.approvals.length > 0 ? ` (${wallet.approvals.length})` : ''}
            </a>
          ))}
        </nav>
        {wallet && <StopSwitch wallet={wallet} data={data} />}
      </header>
      <main>
        <p class="said" role="status">
          <Words text={data.said.value} />
        </p>
        <RefusedNote refused={pageEnd.value ?? data.wallet.problem.value} />
        <SlowNote />
        {wallet ? (
          <>
            <StopNotice stop={wallet.stop} />
            <Attention sentences={wallet.attention} />
            <Approvals wallet={wallet} data={data} />
            <Balances wallet={wallet} data={data} />
            <Caps wallet={wallet} data={data} />
            <SpendingReport data={data} />
            <Receipts data={data} />
            <footer class="quiet">
              {wallet.service} · {wallet.folder}
              {wallet.isDryRun ? ' · dry run: no payment is signed' : ''}
            </footer>
          </>
        ) : (
          pageEnd.value === null && <p class="quiet">Loading the wallet…</p>
        )}
      </main>
    </>
  )
}

const sections = [
  ['approvals', 'Approvals'],
  ['balances', 'Balances'],
  ['caps', 'Caps'],
  ['spending', 'Spending'],
  ['receipts', 'Receipts'],
] as const

function Attention({ sentences }: { sentences: readonly string[] }): JSX.Element | null {
  if (sentences.length === 0) return null
  return (
    <section class="card attention" aria-label="Needs attention">
      {sentences.map(sentence => (
        <p key={sentence}>
          <Words text={sentence} />
        </p>
      ))}
    </section>
  )
}

const place = document.getElementById('page')
if (place) {
  place.replaceChildren()
  render(<Opening />, place)
  openSession(keptIn('sessionStorage')).then(
    () => render(<WalletPage />, place),
    error => {
      render(
        <main>
          <h1>farebox wallet</h1>
          <RefusedNote refused={refusedOf(error)} />
        </main>,
        place,
      )
    },
  )
}
