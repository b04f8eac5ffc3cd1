import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { refusedOf } from '../kit/api.ts'
import { DialogForm } from '../kit/dialog.tsx'
import { utcTime } from '../kit/format.ts'
import type { WalletData } from './wallet-data.ts'
import type { WalletState } from './wire.ts'

interface Props {
  wallet: WalletState
  data: WalletData
}

/** Stopping takes one click. Lifting the stop requires the same proof as in a terminal. */
export function StopSwitch({ wallet, data }: Props): JSX.Element | null {
  const isAsking = useSignal(false)
  const stop = async () => {
    try {
      await data.send('POST /api/stop', {})
    } catch (error) {
      const { happened, next } = refusedOf(error)
      data.said.value = `${happened} ${next}`
    }
  }
  return (
    <div class="stop">
      {wallet.stop.isStopped ? (
        <button
          type="button"
          disabled={wallet.stop.file !== null}
          onClick={() => {
            isAsking.value = true
          }}
        >
          Start again…
        </button>
      ) : (
        <button type="button" class="danger" onClick={stop}>
          Stop the wallet
        </button>
      )}
      {isAsking.value && (
        <DialogForm
          title="Start the wallet again?"
          action="Start"
          close={() => {
            isAsking.value = false
          }}
          submit={form => data.send('POST /api/start', { passphrase: String(form.get('passphrase') ?? '') })}
        >
          <p>All processes that use this journal can sign and pay again, within the caps. Paused refills resume.</p>
          {wallet.needsPassphrase && <PassphraseField />}
        </DialogForm>
      )}
    </div>
  )
}

/** For actions that need more than the session. */
export function PassphraseField(): JSX.Element {
  return (
    <label>
      Wallet passphrase
      <input type="password" name="passphrase" autocomplete="current-password" required />
    </label>
  )
}

/** Above everything else while the wallet is stopped. */
export function StopNotice({ stop }: Pick<WalletState, 'stop'>): JSX.Element | null {
  const { isStopped, by, atMs, file } = stop
  if (!isStopped) return null
  return (
    <section class="card alarm" aria-label="The wallet is stopped">
      <p>
        <strong>The wallet is stopped</strong>
        {file === null ? ` (${by ?? 'its owner'}${atMs === null ? '' : `, ${utcTime(atMs)}`}).` : '.'} Nothing is signed
        or sent.
      </p>
      {file !== null && (
        <p>
          The file <code>{file}</code> stops it: remove it to start again.
        </p>
      )}
    </section>
  )
}
