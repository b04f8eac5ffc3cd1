import { type JSX, render } from 'preact'
import { useEffect } from 'preact/hooks'
import { goOnWith, keptIn, postJson } from '../kit/api.ts'
import { RefusedNote, SlowNote } from '../kit/dialog.tsx'
import { utcTime } from '../kit/format.ts'
import { followLinks, place } from '../kit/router.ts'
import { type Section, SectionHeading, SectionNav } from '../kit/sections.tsx'
import { InvoicePage, InvoicesPage } from './invoice.tsx'
import { KeysPage } from './keys.tsx'
import { LimitsPage } from './limits.tsx'
import { OverviewPage } from './overview.tsx'
import { RequestPage, RequestsPage } from './requests.tsx'
import { failed, me, problem, readMe } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { TopUp } from './top-up.tsx'
import { accountPath, type Me, type Notice } from './wire.ts'

interface AccountSection extends Section {
  /** Only for a wallet or an ADMIN key. */
  isForAccount?: true
}

const sections: readonly AccountSection[] = [
  { path: accountPath, title: 'Overview', page: OverviewPage },
  { path: `${accountPath}/requests`, title: 'Requests', page: RequestsPage },
  { path: `${accountPath}/request`, title: 'Request', page: RequestPage, isHidden: true },
  { path: `${accountPath}/keys`, title: 'Keys', page: KeysPage, isForAccount: true },
  { path: `${accountPath}/limits`, title: 'Limits', page: LimitsPage },
  { path: `${accountPath}/invoices`, title: 'Invoices', page: InvoicesPage, isForAccount: true },
  { path: `${accountPath}/invoice`, title: 'Invoice', page: InvoicePage, isForAccount: true, isHidden: true },
  { path: `${accountPath}/top-up`, title: 'Top up', page: TopUp },
]

/** The whole page: the sign-in, or the signed-in customer and one of the sections. */
function AccountPage(): JSX.Element {
  useEffect(() => {
    void readMe()
  }, [])
  const seen = me.value
  const { path } = place.value
  const seenSections = sections.filter(each => !each.isForAccount || seen?.seesAccount)
  // Until it is known who is signed in, no section is missing.
  const section = (seen ? seenSections : sections).find(each => each.path === path)
  const title = seen === null ? 'Sign in' : (section?.title ?? 'Page not found')
  const Page = section?.page
  return (
    <>
      <header class="top">
        <p class="brand">Your account</p>
        {seen && <SectionNav sections={seenSections} current={path} />}
        {seen && <SignedIn me={seen} />}
      </header>
      <main>
        <SectionHeading title={title} of="account" isReady={seen !== undefined} />
        <RefusedNote refused={problem.value} />
        <SlowNote />
        {seen === undefined && <Unread />}
        {seen?.state === 'suspended' && (
          <p class="refused">
            The operator has suspended this account: calls are refused, and keys cannot be created. Contact the
            operator.
          </p>
        )}
        {seen === null && <SignIn />}
        {seen && (Page ? <Page key={path} /> : <a href={accountPath}>Overview</a>)}
        <Footer me={seen ?? null} />
      </main>
    </>
  )
}

/** While the server has not said who is signed in. */
function Unread(): JSX.Element {
  if (problem.value === null) return <p class="quiet">Loading…</p>
  return (
    <p>
      <button type="button" onClick={() => readMe()}>
        Try again
      </button>
    </p>
  )
}

function SignedIn({ me: { who, name } }: { me: Me }): JSX.Element {
  const leave = async (path: string) => {
    try {
      await postJson<Notice>(path, {})
      await readMe()
    } catch (error) {
      problem.value = failed(error)
    }
  }
  return (
    <p class="who">
      {name ? `${name}: ` : ''}
      <span class="wallet">{who}</span>{' '}
      <button type="button" onClick={() => leave('/account/api/sign-out')}>
        Sign out
      </button>{' '}
      <button type="button" onClick={() => leave('/account/api/sign-out-all')}>
        Sign out everywhere
      </button>
    </p>
  )
}

function Footer({ me: seen }: { me: Me | null }): JSX.Element {
  return (
    <footer class="quiet">
      {seen && `${seen.publicUrl} · times and days are UTC · this session ends at ${utcTime(seen.untilMs)} · `}
      <a href="/docs" target="_blank" rel="noreferrer">
        API reference
      </a>
    </footer>
  )
}

const element = document.getElementById('page')
if (element) {
  element.replaceChildren()
  goOnWith(keptIn('localStorage'), { happened: 'The service does not answer.', next: 'Try again in a moment.' })
  followLinks()
  render(<AccountPage />, element)
}
