import { type FetchRules, payingFetch } from '#agent/fetch/paying-fetch.ts'
import type { ApprovalDecision, ApprovalRequest } from '#toolkit/approval.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { type AgentSetUp, openAgent } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

type Opening = PretendOptions & Pick<AgentSetUp, 'settings'> & { rules?: Partial<FetchRules> }

/** A program's fetch before a service with credit; both are closed after each test of the file. */
export function fetches() {
  const closing = closedAfterEach()
  const open = async ({ rules, settings, ...options }: Opening = {}) => {
    const server = await pretendService({ credit: 5, ...options })
    const agent = await openAgent({ baseUrl: server.baseUrl, ...(settings ? { settings } : {}) })
    closing.push(server.close, agent.close)
    const fetch = payingFetch(agent, { takesConsents: true, ...rules })
    return { server, fetch, agent }
  }
  return { open, closing }
}

export type Opened = Awaited<ReturnType<ReturnType<typeof fetches>['open']>>

export const post = ({ fetch, server }: Pick<Opened, 'fetch' | 'server'>, path: string, body: object, headers = {}) =>
  fetch(`${server.baseUrl}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })

export const messages = [{ role: 'user', content: 'hi' }]
export const chat = { model: 'm', messages }
export const video = { model: 'm', prompt: 'a cat', duration: '5s', image_url: 'https://x.example/a.png' }

/** A user who decides every request the same; keeps the requests. */
export function user(answer: ApprovalDecision) {
  const asked: ApprovalRequest[] = []
  const ask = (question: ApprovalRequest) => {
    asked.push(question)
    return answer
  }
  return { asked, ask }
}

export const yes: ApprovalDecision = { kind: 'approve', approved: true }
export const no: ApprovalDecision = { kind: 'declined' }
export const ticked: ApprovalDecision = {
  kind: 'consent',
  termsAndPrivacy: true,
  legalRight: true,
  screeningAcknowledged: true,
}
