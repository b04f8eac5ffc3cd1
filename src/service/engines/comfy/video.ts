import { createHash } from 'node:crypto'
import { readPicture } from '../../pictures/picture.ts'
import { videoPlan } from '../demo/video-plan.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '../engine.ts'
import { submissionMs } from '../job-bounds.ts'
import { JobUpstream } from '../job-upstream.ts'
import type { JobUpstreamOptions } from '../job-upstream-options.ts'
import { OnceSent } from '../once-sent.ts'
import { comfyBeginnings, comfyQuestionMs } from './bounds.ts'
import { ComfyServer, type MadeFile } from './server.ts'
import { Workflow } from './workflow.ts'

export interface ComfyVideoOptions extends JobUpstreamOptions {
  /** As ComfyUI exports it for its API, with placeholders such as `{{prompt}}` in its texts; it saves an MP4. */
  workflow: unknown
}

/**
 * Videos by a workflow on a ComfyUI server. Work has the job's id there, so that one whose submission was not answered is
 * found again in the line and in the history; what a server has forgotten is asked anew.
 */
export class ComfyVideo implements VideoEngine {
  readonly #server: ComfyServer
  readonly #files: JobUpstream
  readonly #workflow: Workflow
  readonly #sent = new OnceSent({ knowsAgain: true })

  /** Throws a sentence where the address, the key or the workflow cannot be used. */
  constructor(options: ComfyVideoOptions) {
    this.#workflow = new Workflow(options.workflow)
    this.#server = new ComfyServer(options)
    this.#files = new JobUpstream(options)
  }

  async start({ jobId }: VideoCall): Promise<JobProgress> {
    return this.#files.finished(jobId) ?? this.#sent.begin()
  }

  async poll(call: VideoCall, state: EngineState): Promise<JobProgress> {
    const kept = this.#files.finished(call.jobId)
    if (kept) return kept
    if (this.#sent.isPending(state)) return this.#sent.step(call.jobId, state, () => this.#submit(call, 1))
    return this.#look(call, state)
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#server.close(), this.#files.close()])
  }

  async #submit(call: VideoCall, beginnings: number): Promise<JobProgress> {
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(submissionMs)])
    const known = await this.#server.findByOurs(call.jobId, signal)
    if (known !== null) return running(known, beginnings)
    const values = await this.#valuesOf(call, signal)
    if (typeof values === 'string') return { state: 'failed', reason: values }
    const names = { id: call.jobId, clientId: call.jobId }
    return running(await this.#server.submit(this.#workflow.filled(values), names, signal), beginnings)
  }

  async #look(call: VideoCall, state: EngineState): Promise<JobProgress> {
    const id = String(state.promptId)
    const beginnings = Number(state.beginnings ?? 1)
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(comfyQuestionMs)])
    const found = await this.#server.look(id, signal)
    switch (found.state) {
      case 'waiting':
        return { state: 'running', engineState: state }
      case 'failed':
        return { state: 'failed', reason: 'The engine could not make this video.' }
      case 'unknown':
        // What it has forgotten it does not work on either.
        if (beginnings >= comfyBeginnings) return { state: 'failed', reason: 'The engine lost the job.' }
        return this.#submit(call, beginnings + 1)
      case 'done':
        return this.#fetch(call, found.files)
    }
  }

  async #fetch({ jobId, signal }: VideoCall, files: readonly MadeFile[]): Promise<JobProgress> {
    const file = files.find(({ filename }) => /\.mp4$/i.test(filename))
    if (!file) return { state: 'failed', reason: 'The engine made no MP4.' }
    const response = await this.#server.file(file, signal)
    return this.#files.keep(jobId, { kind: 'file', status: 200, mimeType: 'video/mp4', response })
  }

  /** A sentence where a picture cannot be used. */
  async #valuesOf({ request, engineModel, jobId }: VideoCall, signal: AbortSignal) {
    const { width, height, seconds } = videoPlan(request)
    const values: Record<string, string | number> = {
      ...{ prompt: request.prompt, negative_prompt: request.negative_prompt ?? '', width, height, seconds },
      // The same for a job that is begun anew.
      ...{ seed: createHash('sha256').update(jobId).digest().readUInt32BE(0), model: engineModel },
      ...(request.aspect_ratio === undefined ? {} : { aspect_ratio: request.aspect_ratio }),
      ...(request.resolution === undefined ? {} : { resolution: request.resolution }),
    }
    const pictures = { image: request.image_url, end_image: request.end_image_url } as const
    for (const [name, url] of Object.entries(pictures)) {
      if (url === undefined) continue
      if (!this.#workflow.names.has(name as keyof typeof pictures)) return `The engine has no place for ${name}_url.`
      const read = readPicture(url)
      if (!read.ok) return `The picture of ${name}_url cannot be used: ${read.problem}.`
      values[name] = await this.#server.upload(read.picture, signal)
    }
    return values
  }
}

const running = (promptId: string, beginnings: number): JobProgress => ({
  state: 'running',
  engineState: { promptId, beginnings },
})
