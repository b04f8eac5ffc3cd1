import { topUpUsd } from '#contract/limits.ts'
import { defineApp } from '#toolkit/apps/app-page.ts'

export default defineApp('spending', {
  title: 'Spending',
  description: 'Shows credit, balances, caps with the remaining amounts, and the newest payments and charges.',
  script: `
const bar = (name, spent, most) => {
  const shown = element('progress')
  shown.max = most
  shown.value = Math.min(spent, most)
  const label = name + ': ' + usd(spent) + ' of ' + usd(most)
  shown.setAttribute('aria-label', label)
  return element('div', paragraph(label), shown)
}
const list = (title, lines) => (lines.length === 0 ? null : element('section', element('h1', title), element('ul', ...lines.map(line => element('li', line)))))
const paymentsOf = data =>
  (data.receipts ?? []).map(({ at, amount_usd, pay_to, network, state, purpose }) => [utc(at), usd(amount_usd), 'to ' + pay_to, 'on ' + network, state, purpose].join(', '))
/* A line begins with its time. */
const chargesOf = data => (data.charges ?? []).map(line => line.replace(/^(\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z): /, (_, at) => utc(at) + ': '))
const sum = rows => rows.map(({ name, usd: amount }) => name + ': ' + usd(amount))

function statusOf(data) {
  const { caps_usd: caps, spent_usd: spent } = data
  const chains = Object.entries(data.on_chain ?? {}).map(([chain, { address, usdc, unknown_because: why }]) => ['On ' + chain, (usdc === null ? 'unknown' + (why ? ', because ' + why : '') : usd(usdc) + 'C') + ', ' + address])
  const asks = caps && [
    'A call or a requested top-up above ' + usd(caps.ask_above) + ' needs your approval.',
    (data.next_payment_asks ? 'So does the first payment. After that, if' : 'If') + ' a call needs credit, the wallet buys ' + usd(${topUpUsd.minimum}) + ' without asking, or more if the call costs more, within the caps.',
  ]
  return element(
    'section',
    element('h1', 'Credit: ' + usd(data.credit_usd)),
    rows([['Service', data.service], ['Paid by', { wallet: 'the wallet', apiKey: 'an API key', nothing: 'nothing yet' }[data.pays]], ...chains]),
    caps && spent ? bar('Today', spent.today, caps.per_day) : null,
    caps && spent ? bar('In total', spent.total, caps.total) : null,
    caps ? rows([['One payment, at most', usd(caps.per_payment)], ['One call, at most', usd(caps.per_call)]]) : null,
    asks ? paragraph(asks.join(' ')) : null,
    data.next ? paragraph(data.next) : null,
  )
}

async function view(data) {
  const turn = turns
  if (data.by_day) return draw(element('h1', 'Charged in ' + data.days + ' days: ' + usd(data.total_usd)), list('By day', sum(data.by_day)), list('By model', sum(data.by_model)))
  if (data.receipts) return draw(list('Payments', paymentsOf(data)) ?? paragraph('The wallet has paid nothing yet.'), list('Charges', chargesOf(data)))
  const status = statusOf(data)
  draw(status)
  if (!can.serverTools) return
  const again = element('button', 'Refresh')
  again.type = 'button'
  again.addEventListener('click', () => callTool('wallet_status', {}).then(show, () => {}))
  status.append(again)
  const { structuredContent } = await callTool('wallet_receipts', { limit: 10 }).catch(() => ({}))
  if (turn !== turns || !structuredContent?.receipts) return
  main.append(...[list('Payments', paymentsOf(structuredContent)), list('Charges', chargesOf(structuredContent))].filter(Boolean))
}`,
})
