import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import { utcTime } from '../kit/format.ts'
import { place } from '../kit/router.ts'
import { InvoicePage } from './invoice.tsx'
import { InvoicesPage } from './invoices.tsx'
import { KeysPage } from './keys.tsx'
import { LimitsPage } from './limits.tsx'
import { OverviewPage } from './overview.tsx'
import { RequestPage, RequestsPage } from './requests.tsx'
import { failed, me, problem, readMe, said } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { TopUp } from './top-up.tsx'
import { accountPath, type Me, type Told } from './wire.ts'

interface AccountSection {
  path: string
  title: string
  page: () => JSX.Element
  /** Only for a wallet or an ADMIN key. */
  isForAccount?: true
  /** Opened from another section. */
  isHidden?: true
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

/** The whole page: the sign-in, or who is signed in and one of the sections. */
export function AccountPage(): JSX.Element {
  useEffect(() => {
    void readMe()
  }, [])
  const seen = me.value
  const { path } = place.value
  const seenSections = sections.filter(each => !each.isForAccount || seen?.seesAccount)
  const listed = seenSections.filter(each => !each.isHidden)
  const section = seenSections.find(each => each.path === path)
  const title = seen === null ? 'Sign in' : (section?.title ?? 'Page not found')
  const heading = useRef<HTMLHeadingElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${title} · account`
    said.value = ''
    // A screen reader reads the first page by itself, and each later one from its heading.
    if (!isFirst.current && seen !== undefined) heading.current?.focus()
    if (seen !== undefined) isFirst.current = false
  }, [path, title])
  const Page = section?.page
  return (
    <>
      <header class="top">
        <p class="brand">Your account</p>
        {seen && (
          <nav aria-label="Pages">
            {listed.map(each => (
              <a key={each.path} href={each.path} aria-current={each.path === path ? 'page' : undefined}>
                {each.title}
              </a>
            ))}
          </nav>
        )}
        {seen && <SignedIn me={seen} />}
      </header>
      <main>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <p class="said" role="status">
          {said.value}
        </p>
        <RefusedNote refused={problem.value} />
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

function SignedIn({ me: { who, name } }: { me: Me }): JSX.Element {
  const leave = async (path: string) => {
    try {
      await postJson<Told>(path, {})
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
