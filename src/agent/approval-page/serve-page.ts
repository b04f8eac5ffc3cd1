import { displayUntil, systemClock } from '#contract/time.ts'
import { attestations } from '#toolkit/approval.ts'
import type { Approval, Approvals } from '#wallet/approvals/approvals.ts'
import type { ApprovalQuestion } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import {
  type BrowserPage,
  documentOf,
  escaped,
  noticeHtml,
  openBrowserPage,
  paragraph,
  tokenHtml,
} from '../loopback/one-browser.ts'
import { sayAnswer } from '../words/approval-words.ts'
import { asTyped } from '../words/typed-commands.ts'

export interface ApprovalPage {
  /** Opens the page once, in the first browser that uses it. */
  link: string
  /** Resolves when nothing waits for an answer any more. */
  answered: Promise<void>
  close(): Promise<void>
}

export interface ApprovalPageOptions {
  approvals: Approvals
  /** Who answers, as the approval's row tells it: `page, ada`. */
  by: string
}

/** Serves what waits for the user on a port of this machine, for the one browser that opens the link first. */
export async function openApprovalPage(options: ApprovalPageOptions): Promise<ApprovalPage> {
  const answers = new PageAnswers(options)
  const page = await openBrowserPage(answers)
  return { link: page.link(), answered: answers.answered, close: page.close }
}

/** The questions that are open, and a person's answers to them. */
class PageAnswers implements BrowserPage {
  readonly answered: Promise<void>
  readonly usedLink = asTyped(
    'This link was already used or is invalid. Run `farebox wallet open` again for a new one.',
  )
  readonly #approvals: Approvals
  readonly #by: string
  #tellAnswered: () => void = () => {}

  constructor({ approvals, by }: ApprovalPageOptions) {
    this.#approvals = approvals
    this.#by = by
    this.answered = new Promise(resolve => {
      this.#tellAnswered = resolve
    })
  }

  async show(formToken: string, notice: string | null): Promise<string> {
    const waiting = await this.#approvals.list('pending')
    const questions = waiting.map(approval => typedQuestion(this.#approvals.asQuestion(approval)))
    if (questions.length === 0) this.#tellAnswered()
    return pageHtml({ questions, nowMs: systemClock.now(), notice, formToken })
  }

  async take(form: URLSearchParams): Promise<string> {
    const question = await this.#approvals.get(form.get('id') ?? '')
    if (question?.state !== 'pending') return 'That request is no longer pending.'
    const isApproved = form.get('answer') === 'yes'
    if (isApproved && !isWhole(question, form)) {
      return 'No decision was recorded: to consent, tick all three statements.'
    }
    try {
      const answered = await this.#approvals.resolve(question.id, { isApproved, by: this.#by })
      return asTyped(sayAnswer(answered, this.#approvals, systemClock.now()))
    } catch (error) {
      if (error instanceof WalletRefusal) return `${error.sentence} ${error.nextStep}`
      throw error
    }
  }
}

/** Names of the three boxes of a consent; each has to come ticked. */
const boxNames: readonly string[] = Object.keys(attestations)

/** A consent is three statements, each ticked by the person; the others are a button. */
const isWhole = ({ facts }: Approval, form: URLSearchParams): boolean =>
  facts.kind !== 'consent' || boxNames.every(name => form.get(name) === 'yes')

/** The command has its folder in it. */
const typedQuestion = (question: ApprovalQuestion): ApprovalQuestion => ({ ...question, onNo: asTyped(question.onNo) })

interface PageContent {
  questions: readonly ApprovalQuestion[]
  nowMs: number
  /** What came of the last answer; ours, never a stranger's. */
  notice: string | null
  /** Proves that a form comes from this page. */
  formToken: string
}

/** The whole page, without a script: every text from outside is escaped and stands in a frame of its own. */
const pageHtml = ({ questions, nowMs, notice, formToken }: PageContent): string =>
  documentOf(
    'Pending approvals',
    [
      noticeHtml(notice),
      ...questions.map(question => questionHtml(question, formToken, nowMs)),
      ...(questions.length === 0 ? ['<p>Nothing is pending. You can close this page.</p>'] : []),
    ].join('\n'),
  )

function questionHtml(question: ApprovalQuestion, formToken: string, nowMs: number): string {
  const { approvalId: id, facts, asks, why, details, onYes, onNo, expiresAtMs } = question
  const yes = facts.kind === 'consent' ? 'I consent' : facts.kind === 'payee' ? 'Allow this payee' : 'Approve'
  return `<form method="post" action="answer" class="question" aria-labelledby="${escaped(id)}">
<h2 id="${escaped(id)}">${escaped(asks)}</h2>
${paragraph(why)}
<dl>${details.map(({ name, value }) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
${facts.kind === 'consent' ? policyHtml(facts.policyText) : ''}
${tokenHtml(formToken)}
<input type="hidden" name="id" value="${escaped(id)}">
${facts.kind === 'consent' ? boxesHtml() : ''}
<p class="buttons"><button name="answer" value="no">No</button>
<button name="answer" value="yes" class="yes">${escaped(yes)}</button></p>
<p class="small">${escaped(onYes)} ${escaped(onNo)} The request ${escaped(id)} is open until ${displayUntil(expiresAtMs, nowMs)}.</p>
</form>`
}

const policyHtml = (text: string): string => `<p>This is the full text of the policy, as the service sent it:</p>
<pre tabindex="0">${escaped(text)}</pre>`

const boxesHtml = (): string =>
  Object.entries(attestations)
    .map(([name, text]) => `<p><label><input type="checkbox" name="${name}" value="yes"> ${escaped(text)}</label></p>`)
    .join('\n')
