import { render } from 'preact'
import { keptIn, openSession, refusedOf } from '../kit/api.ts'
import { Opening, RefusedNote } from '../kit/dialog.tsx'
import { WalletPage } from './wallet-page.tsx'

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
