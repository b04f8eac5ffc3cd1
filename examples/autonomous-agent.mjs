// Runs unattended: finds the cheapest video model, has a prompt written, buys the video within the caps of its wallet and
// saves it. Settings: FAREBOX_BASE_URL and a wallet, as for `farebox mcp`.
// In a clone without a build: npx node -C farebox-source examples/autonomous-agent.mjs
import { ApprovalRequired, agentFromEnvironment, ToolFailure } from 'farebox'

const agent = await agentFromEnvironment()
const { tools } = agent

try {
  const { models } = (await tools.models_find({ type: 'video' })).output
  const drawing = models.filter(
    ({ video }) => video?.durations.length && ['text-to-video', 'video'].includes(video.kind),
  )
  const offers = await Promise.all(
    drawing.map(async ({ id, video }) => {
      const choices = { model: id, duration: video.durations[0], resolution: video.resolutions[0] }
      const given = { ...choices, prompt: 'A kite over the sea' }
      return { choices, usd: (await tools.estimate({ tool: 'video_create', arguments: given })).output.at_most_usd }
    }),
  )
  const [cheapest] = offers.toSorted((one, other) => one.usd - other.usd)
  const { spent_usd: spent, caps_usd: caps } = (await tools.wallet_status()).output
  console.log(`${cheapest.choices.model} costs ${cheapest.usd} USD; paid so far: ${spent.total} of ${caps.total} USD.`)

  const asked = { model: 'demo-chat', prompt: 'Describe a harbour at dawn.', max_tokens: 80 }
  const prompt = (await tools.chat(asked)).output.answer.slice(0, 300)
  let { output: job } = await tools.video_create({ ...cheapest.choices, prompt })
  while (job.state === 'running') job = (await tools.job_wait({ job_id: job.job_id })).output
  console.log(job.state, job.file?.path ?? job.failure)
} catch (error) {
  if (!(error instanceof ApprovalRequired || error instanceof ToolFailure)) throw error
  console.log(`Stopped: ${error.message}`)
  process.exitCode = 1
} finally {
  await agent.close()
}
