import type { Revision } from './suite.ts'

/** Scenarios that need no fixture, so that they run on `farebox mcp --http` as it is. */
export const onTheProduct: readonly (readonly [Revision, string])[] = [
  ['2025-11-25', 'server-initialize'],
  ['2025-11-25', 'ping'],
  ['2025-11-25', 'tools-list'],
  ['2025-11-25', 'resources-list'],
  ['2025-11-25', 'prompts-list'],
  ['2025-11-25', 'server-sse-multiple-streams'],
  ['2025-11-25', 'server-session-lifecycle'],
  ['2025-11-25', 'dns-rebinding-protection'],
  ['2026-07-28', 'server-stateless'],
  ['2026-07-28', 'tools-list'],
  ['2026-07-28', 'resources-list'],
  ['2026-07-28', 'sep-2164-resource-not-found'],
  ['2026-07-28', 'prompts-list'],
  ['2026-07-28', 'caching'],
  ['2026-07-28', 'server-sse-multiple-streams'],
  ['2026-07-28', 'dns-rebinding-protection'],
  ['2026-07-28', 'http-header-validation'],
  ['2026-07-28', 'input-required-result-unsupported-methods'],
]
