import { displayUntil } from '#contract/time.ts'
import { attestations } from '#toolkit/approval.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import type { ApprovalQuestion } from '#wallet/terms/approval.ts'

/** Names of the three boxes of a consent; each has to come ticked. */
export const boxNames: readonly string[] = Object.keys(attestations)

export interface PageContent {
  questions: readonly ApprovalQuestion[]
  nowMs: number
  /** What came of the last answer; ours, never a stranger's. */
  notice: string | null
  /** Proves that a form comes from this page. */
  formToken: string
}

/** The whole page, without a script: every text from outside is escaped and stands in a frame of its own. */
export const pageHtml = ({ questions, nowMs, notice, formToken }: PageContent): string =>
  documentOf(
    [
      ...(notice === null ? [] : [`<p class="notice" role="status">${escaped(notice)}</p>`]),
      ...questions.map(question => questionHtml(question, formToken, nowMs)),
      ...(questions.length === 0 ? ['<p>Nothing waits for an answer. You can close this page.</p>'] : []),
    ].join('\n'),
  )

/** A page that only says something: a link that was used, an answer from elsewhere. */
export const sayHtml = (sentence: string): string => documentOf(`<p>${escaped(sentence)}</p>`)

function questionHtml(question: ApprovalQuestion, formToken: string, nowMs: number): string {
  const { approvalId: id, facts, asks, why, details, onYes, onNo, expiresAtMs } = question
  const yes = facts.kind === 'consent' ? 'I consent' : facts.kind === 'payee' ? 'Allow this payee' : 'Approve'
  return `<form method="post" action="answer" class="question" aria-labelledby="${escaped(id)}">
<h2 id="${escaped(id)}">${escaped(asks)}</h2>
${paragraph(why)}
<dl>${details.map(({ name, value }) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
${facts.kind === 'consent' ? policyHtml(facts.policyText) : ''}
<input type="hidden" name="form" value="${escaped(formToken)}">
<input type="hidden" name="id" value="${escaped(id)}">
${facts.kind === 'consent' ? boxesHtml() : ''}
<p class="buttons"><button name="answer" value="no">No</button>
<button name="answer" value="yes" class="yes">${escaped(yes)}</button></p>
<p class="small">${escaped(onYes)} ${escaped(onNo)} The question ${escaped(id)} is open until ${displayUntil(expiresAtMs, nowMs)}.</p>
</form>`
}

const policyHtml = (text: string): string => `<p>This is the policy, whole, as the service sent it:</p>
<pre tabindex="0">${escaped(text)}</pre>`

const boxesHtml = (): string =>
  Object.entries(attestations)
    .map(([name, text]) => `<p><label><input type="checkbox" name="${name}" value="yes"> ${escaped(text)}</label></p>`)
    .join('\n')

const paragraph = (text: string): string => `<p>${escaped(text)}</p>`

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** What nobody can see is shown by its number, so that a text cannot look like another one. */
const escaped = (text: string): string => hiddenShown(text).replace(/[&<>"']/g, mark => marks[mark] ?? mark)

export const pageStyle = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:44rem;margin:2rem auto;padding:0 1rem}
.question{border:1px solid #8888;border-radius:.5rem;padding:.5rem 1.25rem;margin:1.5rem 0}
h1{font-size:1.25rem}h2{font-size:1.1rem;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow:auto;border-left:4px solid #8888;padding:.5rem 1rem}
dd{margin:0 0 .5rem;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.buttons{display:flex;gap:1rem;justify-content:flex-end}button{font:inherit;padding:.4rem 1.2rem}
.notice{border-left:4px solid #2a7;padding:.25rem 1rem}.small{font-size:.85rem;opacity:.8}`

const documentOf = (body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>farebox: what waits for you</title><style>${pageStyle}</style></head>
<body><h1>What your assistant may not decide</h1>
${body}
</body></html>`
