import { userInfo } from 'node:os'
import { parseArguments } from '../arguments.ts'
import type { CommandIo } from '../command.ts'
import { atDesk } from './at-desk.ts'
import { confirmOwner } from './confirm-owner.ts'
import { openInBrowser } from './open-in-browser.ts'
import { requireTerminal } from './terminal.ts'

const command = 'farebox wallet open'

/** Shows what waits for a person in their browser, until all of it is answered. The passphrase is asked before. */
export async function openPage(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: { data: { type: 'string' }, 'no-browser': { type: 'boolean', default: false } },
  })
  requireTerminal(io, command)
  return atDesk(io, values.data, async desk => {
    const waiting = await desk.approvals.list('pending')
    if (waiting.length === 0) {
      io.output.print('Nothing waits for an answer.')
      return 0
    }
    await confirmOwner(io, desk)
    const { openApprovalPage } = await import('#agent/approval-page/open-page.ts')
    const page = await openApprovalPage({ approvals: desk.approvals, by: `page, ${userInfo().username}` })
    let removeTraces = async () => {}
    try {
      io.output.print(`${waiting.length} ${waiting.length === 1 ? 'question waits' : 'questions wait'} for you at`)
      io.output.print(`  ${page.link}`)
      io.output.note('The link works once, in the browser that opens it first: open it yourself where none does.')
      io.output.note('Ctrl-C closes the page.')
      const stop = io.untilStopped()
      const stopped = new Promise<void>(resolve => stop.addEventListener('abort', () => resolve(), { once: true }))
      if (!values['no-browser']) removeTraces = await openInBrowser(page.link, io.env)
      await Promise.race([page.answered, stopped])
      return 0
    } finally {
      await removeTraces()
      await page.close()
    }
  })
}
