import { z } from 'zod'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { defineTool, type FormField, type Tool, type UserForm } from '#toolkit/define.ts'
import { spend } from '../../mcp/approval-requests.ts'
import { fixture } from './plain-tools.ts'

/** Takes any text that the user may fill in, because the suite answers each form with its own values. */
const form = (userFills: UserForm, shape: Record<string, z.ZodType> = {}): Tool =>
  defineTool({
    ...fixture(userFills.name),
    input: z.looseObject({ message: z.string().optional(), ...shape }),
    output: z.object({ filled: z.record(z.string(), z.unknown()) }),
    userFills,
    run: async (_context, input) => ({ filled: input }),
    say: ({ filled }) => `The user filled in ${JSON.stringify(filled)}.`,
  })

const nameForm: UserForm = {
  name: 'user_name',
  message: 'What is your name?',
  fields: { name: { type: 'string' } },
  required: ['name'],
}

const anyForm = (name: string, fields: Record<string, FormField>): UserForm => ({
  name,
  message: `Please fill in the form of ${name}.`,
  fields,
  required: [],
})

const choices = ['option1', 'option2', 'option3']
const named = ['value1', 'value2', 'value3'].map((value, index) => ({ const: value, title: `Choice ${index + 1}` }))

const defaults: Record<string, FormField> = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
}

const enums: Record<string, FormField> = {
  untitledSingle: { type: 'string', enum: choices },
  titledSingle: { type: 'string', oneOf: named },
  legacyEnum: { type: 'string', enum: choices, enumNames: ['Option one', 'Option two', 'Option three'] },
  untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: choices } },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: named } },
}

const respond: Record<string, FormField> = { username: { type: 'string' }, email: { type: 'string' } }

/** Asks for a name and then for a decision. The suite's answer ticks nothing, so it ends as one that was declined. */
const twoRounds: Tool = {
  ...form(nameForm),
  name: 'test_input_required_result_multi_round',
  async run() {
    throw new ApprovalRequired(spend)
  },
}

/** Tools that ask the user: for values in a form, or for a decision, as every paid tool does here. */
export const askingTools: readonly Tool[] = [
  form(anyForm('test_elicitation', respond)),
  form(anyForm('test_elicitation_sep1034_defaults', defaults)),
  form(anyForm('test_elicitation_sep1330_enums', enums)),
  { ...form(nameForm), name: 'test_input_required_result_elicitation' },
  { ...form(nameForm), name: 'test_input_required_result_request_state' },
  { ...form(nameForm), name: 'test_input_required_result_tampered_state' },
  twoRounds,
]
