import { render } from 'preact'
import { openSession, refusedOf } from '../kit/api.ts'
import { WalletPage } from './wallet-page.tsx'

const place = document.getElementById('page')
if (place) {
  place.replaceChildren()
  openSession().then(
    () => render(<WalletPage />, place),
    error => {
      const { happened, next } = refusedOf(error)
      render(
        <main>
          <h1>farebox wallet</h1>
          <p role="alert">
            {happened} {next}
          </p>
        </main>,
        place,
      )
    },
  )
}
