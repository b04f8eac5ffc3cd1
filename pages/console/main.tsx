import { render } from 'preact'
import { goOnWith, keptIn, openSession, refusedOf } from '../kit/api.ts'
import { Opening } from '../kit/dialog.tsx'
import { followLinks } from '../kit/router.ts'
import { ConsolePage } from './console-page.tsx'
import { proveWhenNeeded } from './prove.tsx'
import { SignInPage } from './sign-in.tsx'

const place = document.getElementById('page')
if (place) {
  place.replaceChildren()
  const kept = keptIn('localStorage')
  goOnWith(kept, { happened: 'The service does not answer.', next: 'Try again in a moment.' })
  render(<Opening />, place)
  openSession(kept).then(
    () => {
      followLinks()
      proveWhenNeeded()
      render(<ConsolePage />, place)
    },
    error => render(<SignInPage why={refusedOf(error)} />, place),
  )
}
