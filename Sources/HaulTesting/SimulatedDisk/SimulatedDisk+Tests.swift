/// What a test of an app needs from the disk.
extension SimulatedDisk {
  /// An empty disk with the directory `/`.
  /// - Parameter seed: decides what a power cut loses; the same seed loses the same.
  public init(seed: UInt64 = 1) {
    let machine = SimulatedMachine(seed: seed)
    machine.put("/", onDevice: 1)
    self = machine.startProcess()
  }

  /// The bytes of a file; nil if it does not exist.
  public func contents(of path: String) -> [UInt8]? {
    let (directory, name) = Self.parts(of: path)
    return machine.contents(of: name, in: directory)
  }

  /// The names of the files in a directory, sorted, including part files and journals.
  public func names(in directory: String) -> [String] {
    machine.names(in: Self.normal(directory))
  }

  /// Creates a directory.
  public func makeDirectory(_ path: String) { machine.put(Self.normal(path), onDevice: 1) }

  /// Creates a durable file, as another program would.
  public func put(_ bytes: [UInt8], at path: String) {
    let (directory, name) = Self.parts(of: path)
    machine.plant(bytes, as: name, in: directory)
  }

  /// Limits the total bytes of all files; nil for no limit.
  public func setCapacity(_ bytes: Int?) { machine.setCapacity(bytes) }

  /// - Returns: the disk after the next boot, for the next manager.
  public func afterPowerLoss() -> SimulatedDisk {
    machine.losePower()
    return machine.startProcess()
  }

  private static func normal(_ directory: String) -> String {
    directory == "/"
      ? directory : directory.hasSuffix("/") ? String(directory.dropLast()) : directory
  }

  private static func parts(of path: String) -> (directory: String, name: String) {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    let directory = path.dropLast(name.utf8.count)
    return (normal(String(directory)), name)
  }
}
