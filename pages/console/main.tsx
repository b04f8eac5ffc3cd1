import { render } from 'preact'
import { openSession, refusedOf } from '../kit/api.ts'
import { followLinks } from '../kit/router.ts'
import { ConsolePage } from './console-page.tsx'
import { proveWhenNeeded } from './prove.tsx'
import { SignInPage } from './sign-in.tsx'

const place = document.getElementById('page')
if (place) {
  place.replaceChildren()
  openSession(localStorage).then(
    () => {
      followLinks()
      proveWhenNeeded()
      render(<ConsolePage />, place)
    },
    error => render(<SignInPage why={refusedOf(error)} />, place),
  )
}
