import type { JSX } from 'preact'
import { RefusedNote } from '../kit/dialog.tsx'
import { usd, utcTime } from '../kit/format.ts'
import { CopyText, Qr, Words } from '../kit/text.tsx'
import { SendBack } from './send-back.tsx'
import type { WalletData } from './wallet-data.ts'
import type { HeldView, SeenView, WalletAddress, WalletState } from './wire.ts'

export function Balances({ wallet, data }: { wallet: WalletState; data: WalletData }): JSX.Element {
  const seen = data.holdings.value.value
  return (
    <section id="balances" aria-labelledby="balances-title">
      <h2 id="balances-title">Balances</h2>
      <RefusedNote refused={data.holdings.problem.value} />
      <div class="cards">
        <div class="card">
          <h3>Credit at the service</h3>
          <Amount seen={seen?.credit ?? null} />
          <p class="quiet">{wallet.service}</p>
          {wallet.refill && (
            <p class="quiet">
              Refills below {usd(wallet.refill.below)} by {usd(wallet.refill.by)}. {wallet.refill.note}
            </p>
          )}
        </div>
        {wallet.addresses.map(address => (
          <AddressCard
            key={address.address}
            wallet={wallet}
            data={data}
            address={address}
            seen={seen ? (seen.balances.find(each => each.address === address.address) ?? null) : null}
            isRead={seen !== null}
          />
        ))}
      </div>
    </section>
  )
}

function Amount({ seen }: { seen: SeenView | null }): JSX.Element {
  if (!seen) return <p class="amount quiet">…</p>
  if (seen.amount === null)
    return (
      <p class="amount-unknown">
        <Words text={`Unknown: ${seen.unknown ?? 'it was not reported'}.`} />
      </p>
    )
  return (
    <>
      <p class="amount">{usd(seen.amount)}</p>
      {seen.unknown !== null && seen.atMs !== null && (
        <p class="quiet">
          As of {utcTime(seen.atMs)}: {seen.unknown}.
        </p>
      )}
    </>
  )
}

interface AddressProps {
  wallet: WalletState
  data: WalletData
  address: WalletAddress
  seen: HeldView | null
  isRead: boolean
}

function AddressCard({ wallet, data, address, seen, isRead }: AddressProps): JSX.Element {
  const notAsked = { amount: null, atMs: null, unknown: 'the settings allow no payments on this chain' }
  return (
    <div class="card">
      <h3>
        USDC on {address.chain}
        {address.isPayer && <span class="badge">pays the service</span>}
      </h3>
      <Amount seen={seen ?? (isRead ? notAsked : null)} />
      <p>
        <CopyText text={address.address} what={`the address on ${address.chain}`} />
      </p>
      <details>
        <summary>Add money</summary>
        {wallet.isLocal ? (
          <p>The service is on this machine and uses test money: do not send this address real USDC.</p>
        ) : (
          <>
            <p>
              Send {usd(wallet.smallestTopUp)} or more in USDC on {address.chain}, from another wallet or an exchange.
              Choose this network there: tokens sent on another network are lost.
            </p>
            {address.qr && <Qr qr={address.qr} label={`QR code: ${address.qr.uri}`} />}
            {seen?.onRamp && (
              <p>
                The service suggests buying USDC at{' '}
                <a href={seen.onRamp.url} target="_blank" rel="noopener noreferrer">
                  {seen.onRamp.host}
                </a>
                . farebox has not checked that site.
              </p>
            )}
          </>
        )}
      </details>
      <p class="buttons">
        <SendBack wallet={wallet} from={address} data={data} />
      </p>
    </div>
  )
}
