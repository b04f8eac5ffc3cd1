import { render } from 'preact'
import { goOnWith, keptIn } from '../kit/api.ts'
import { followLinks } from '../kit/router.ts'
import { AccountPage } from './account-page.tsx'

const place = document.getElementById('page')
if (place) {
  place.replaceChildren()
  goOnWith(keptIn('localStorage'), { happened: 'The service does not answer.', next: 'Try again in a moment.' })
  followLinks()
  render(<AccountPage />, place)
}
