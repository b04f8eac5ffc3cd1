import { useSignalEffect } from '@preact/signals'
import { type JSX, render } from 'preact'
import { goOnWith, keptIn, openSession, postJson, readJson, refusedOf } from '../kit/api.ts'
import { Opening, RefusedNote, SlowNote } from '../kit/dialog.tsx'
import { pageEnd } from '../kit/live.ts'
import { followLinks, place } from '../kit/router.ts'
import { type Section, SectionHeading, SectionNav, said } from '../kit/sections.tsx'
import { ActsPage } from './acts.tsx'
import { CustomersPage, OneCustomerPage } from './customer.tsx'
import { JobsPage } from './jobs.tsx'
import { LedgerPage } from './ledger.tsx'
import { LimitsPage } from './limits.tsx'
import { ModelsPage } from './models.tsx'
import { me, useLive } from './operator.ts'
import { OverviewPage } from './overview.tsx'
import { PaymentsPage } from './payments.tsx'
import { ProveDialog, proveWhenNeeded } from './prove.tsx'
import { OneRequestPage } from './request.tsx'
import { SettingsPage } from './settings.tsx'
import { SignInPage } from './sign-in.tsx'
import { UsagePage } from './usage.tsx'
import type { Me, Notice } from './wire.ts'
import { YourSignInPage } from './your-sign-in.tsx'

const sections: readonly Section[] = [
  { path: '/', title: 'Overview', page: OverviewPage },
  { path: '/customers', title: 'Customers', page: CustomersPage },
  { path: '/customer', title: 'Customer', page: OneCustomerPage, isHidden: true },
  { path: '/usage', title: 'Usage', page: UsagePage },
  { path: '/ledger', title: 'Ledger', page: LedgerPage },
  { path: '/request', title: 'Request', page: OneRequestPage, isHidden: true },
  { path: '/payments', title: 'Payments', page: PaymentsPage },
  { path: '/jobs', title: 'Jobs', page: JobsPage },
  { path: '/models', title: 'Models', page: ModelsPage },
  { path: '/limits', title: 'Limits', page: LimitsPage },
  { path: '/acts', title: 'Audit log', page: ActsPage },
  { path: '/settings', title: 'Settings', page: SettingsPage },
  { path: '/your-sign-in', title: 'Your sign-in', page: YourSignInPage, isHidden: true },
]

/** The list that links to a page without an entry in the navigation. */
const above: Readonly<Record<string, string>> = { '/customer': '/customers', '/request': '/ledger' }

/** The whole console: the signed-in operator, the navigation, and the page. */
function ConsolePage(): JSX.Element {
  const read = useLive(() => readJson<Me>('/api/me'))
  useSignalEffect(() => {
    me.value = read.value.value
  })
  const seen = me.value
  const { path } = place.value
  const section = sections.find(each => each.path === path)
  const title = section?.title ?? 'Page not found'
  const signOut = async () => {
    try {
      await postJson<Notice>('/api/sign-out', {})
    } catch (error) {
      const { happened, next } = refusedOf(error)
      said.value = `${happened} ${next}`
    }
    await read.refresh()
  }
  if (pageEnd.value !== null) return <SignInPage why={pageEnd.value} />
  const Page = section?.page
  return (
    <>
      <header class="top">
        <p class="brand">farebox console</p>
        <SectionNav sections={sections} current={above[path] ?? path} />
        {seen && (
          <p class="who">
            {seen.by} ({seen.role}) <a href="/your-sign-in">Your sign-in</a>{' '}
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          </p>
        )}
      </header>
      <main>
        <SectionHeading title={title} of="farebox console" />
        <RefusedNote refused={read.problem.value} />
        <SlowNote />
        {!seen && read.problem.value === null && <p class="quiet">Loading…</p>}
        {seen && (Page ? <Page key={path} /> : <a href="/">Overview</a>)}
        <ProveDialog />
        {seen && <footer class="quiet">{seen.publicUrl} · times and days are UTC</footer>}
      </main>
    </>
  )
}

const element = document.getElementById('page')
if (element) {
  element.replaceChildren()
  const kept = keptIn('localStorage')
  goOnWith(kept, { happened: 'The service does not answer.', next: 'Try again in a moment.' })
  render(<Opening />, element)
  openSession(kept).then(
    () => {
      followLinks()
      proveWhenNeeded()
      render(<ConsolePage />, element)
    },
    error => render(<SignInPage why={refusedOf(error)} />, element),
  )
}
