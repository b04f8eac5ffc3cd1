import { z } from 'zod'
import { textOfDay } from '#contract/time.ts'
import { userName } from '#host/user-name.ts'
import type { OperatorInput } from '#operator/queries/wire.ts'
import { operatorRoles } from '#pages/console/wire.ts'
import { operateBy } from '../admin/operator.ts'
import { given, place, text } from '../admin/operator-command.ts'
import { byWord, type Command, type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { askService, noServiceIn, runningService } from '../data/service-admin.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { printTable } from '../show/table.ts'

const name = 'farebox console'

const usage = `Usage: farebox console [--as NAME] [--role ROLE] [--data DIR] [--json]
       farebox console --sign-out [--data DIR] [--json]
       farebox console operators list [--data DIR] [--json]
       farebox console operators add NAME [--role ROLE] [--data DIR] [--json]
       farebox console operators role NAME --role ROLE [--data DIR] [--json]
       farebox console operators reset NAME [--reason TEXT] [--data DIR] [--json]
       farebox console operators remove NAME [--reason TEXT] [--data DIR] [--json]

Prints a link to the console of the service that uses this folder. The link works once, within five minutes, in the
first browser that opens it. A session ends after half an hour without use, or after eight hours. From another machine,
forward the console's port first: \`ssh -L 8405:127.0.0.1:8405 HOST\`.

operators  manages named operators. They sign in again without a terminal, with a passkey or a password that they set on
           the console's page "Your sign-in". add creates an operator, role changes the role, reset forgets the
           operator's passkeys and password, and remove deletes the operator; the last two end the operator's sessions

  --as NAME      the operator that the link signs in (the user of this terminal)
  --role ROLE    read: see everything but the settings; support: also help customers; owner: everything (owner, or the
                 operator's role)
  --reason TEXT  why, for the log
  --sign-out     end every session, and cancel links that were not opened
  --data DIR     the service's folder (the one in ./farebox.yaml, or .farebox)
  --json         print the link, the operators, or the number of ended sessions as one line of JSON`

const Link = z.object({ link: z.string() })
const Ended = z.object({ sessions: z.number() })

export const operatorsConsole: Command = {
  usage,
  async run(args, io) {
    if (args[0] === 'operators') return operators(args.slice(1), io)
    const { values } = parseArguments(args, {
      command: name,
      options: { as: text, role: text, 'sign-out': { type: 'boolean', default: false }, ...place },
    })
    const role = roleOf(values.role)
    const { folder } = await servicePlaceOf(values.data, io.env)
    const running = await runningService(folder)
    if (!running) throw noServiceIn(folder)
    if (values['sign-out']) {
      const { sessions } = Ended.parse(await askService(running, '/admin/v1/console/sign-out', {}))
      if (values.json) io.output.printJson({ sessions })
      else io.output.print(`Ended ${sessions} ${sessions === 1 ? 'session' : 'sessions'}.`)
      return 0
    }
    const by = values.as ?? userName()
    const order = { by, ...(role ? { role } : {}), ...(values.as === undefined ? {} : { named: true }) }
    const { link } = Link.parse(await askService(running, '/admin/v1/console/link', order))
    if (values.json) {
      io.output.printJson({ link })
      return 0
    }
    io.output.print(link)
    io.output.note('The link works once, within five minutes, in the first browser that opens it.')
    return 0
  },
}

function roleOf(given: string | undefined) {
  const role = operatorRoles.find(each => each === given)
  if (given === undefined || role) return role
  throw wrongValue(name, 'role', given, `one of ${operatorRoles.join(', ')}`)
}

const operators = byWord(name, {
  list,
  add: (args, io) =>
    change(args, io, {
      operation: 'operator.create',
      input: (operator, { role }) => ({ operator, role: role ?? 'owner' }),
      said: operator =>
        `${operator} is an operator. \`farebox console --as ${operator}\` prints a link for the first sign-in.`,
    }),
  role: (args, io) =>
    change(args, io, {
      operation: 'operator.role',
      input(operator, { role }) {
        if (role) return { operator, role }
        throw wrongUsage(name, '`--role` is missing')
      },
      said: operator => `The role of ${operator} has changed.`,
    }),
  reset: (args, io) =>
    change(args, io, {
      operation: 'operator.reset',
      input: (operator, { why }) => ({ operator, ...why }),
      said: operator =>
        `${operator} is signed out, and needs a new link to sign in: \`farebox console --as ${operator}\`.`,
    }),
  remove: (args, io) =>
    change(args, io, {
      operation: 'operator.remove',
      input: (operator, { why }) => ({ operator, ...why }),
      said: operator => `${operator} is signed out, and is no longer an operator.`,
    }),
})

const operate = operateBy(name)

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: name, options: place })
  const answer = await operate('operators', {}, values, io)
  if (values.json) {
    io.output.printJson(answer)
    return 0
  }
  const rows = answer.operators.map(({ name: operator, role, passkeys, hasPassword, createdAtMs }) => [
    ...[operator, role, waysOf(passkeys, hasPassword)],
    textOfDay(createdAtMs),
  ])
  printTable({ head: ['Operator', 'Role', 'Signs in by', 'Created'], rows, right: [] }, io.output)
  return 0
}

function waysOf(passkeys: number, hasPassword: boolean): string {
  const ways = [
    ...(passkeys === 0 ? [] : [`${passkeys} ${passkeys === 1 ? 'passkey' : 'passkeys'}`]),
    ...(hasPassword ? ['password'] : []),
  ]
  return ways.join(', ') || 'link'
}

type Given = { role: ReturnType<typeof roleOf>; why: { reason?: string } }
type OperatorAct = 'operator.create' | 'operator.role' | 'operator.reset' | 'operator.remove'

interface Changed<Name extends OperatorAct> {
  operation: Name
  input(operator: string, given: Given): OperatorInput<Name>
  said(operator: string): string
}

async function change<Name extends OperatorAct>(
  args: readonly string[],
  io: CommandIo,
  { operation, input, said }: Changed<Name>,
): Promise<number> {
  const options = { role: text, reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const [operator] = positionals
  if (operator === undefined) throw wrongUsage(name, 'the operator’s name is missing')
  const order = input(operator, { role: roleOf(values.role), why: given({ reason: values.reason }) })
  const answer = await operate(operation, order, values, io)
  if (values.json) io.output.printJson(answer)
  else io.output.print(said(operator))
  return 0
}
