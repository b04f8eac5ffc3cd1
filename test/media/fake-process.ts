import { writeFile } from 'node:fs/promises'

/** A program in the place of the media process: `body` is run for each task, and may call `answer`. */
export async function fakeProcess(path: string, body: string): Promise<string> {
  const lines = [
    "import { appendFileSync, writeFileSync } from 'node:fs'",
    'const answer = value => process.send({ answer: value })',
    "process.on('disconnect', () => process.exit(0))",
    "process.on('message', async ({ name, task }) => {",
    "  if (name === 'lacking') return answer([])",
    body,
    '})',
  ]
  await writeFile(path, lines.join('\n'))
  return path
}
