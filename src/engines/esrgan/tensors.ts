/** The part of TensorFlow.js that is used here. */
export interface TensorFlow {
  setBackend(name: 'wasm'): Promise<boolean>
  ready(): Promise<void>
  tensor4d(values: Float32Array, shape: [number, number, number, number]): Tensor
  dispose(tensors: Tensor | Tensor[]): void
  io: { fromMemory(artifacts: object): object }
}

export interface Tensor {
  data(): Promise<Float32Array>
  dispose(): void
}

export interface Layers {
  loadLayersModel(handler: object): Promise<LayersModel>
}

export interface LayersModel {
  predict(input: Tensor): Tensor
}

export interface WasmBackend {
  setWasmPaths(folder: string): void
}
