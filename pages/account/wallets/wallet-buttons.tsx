import type { JSX } from 'preact'

/** A button for each wallet of this browser, to sign in with. */
export function WalletButtons(): JSX.Element | null {
  return null
}
