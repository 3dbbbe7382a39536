/// What a test of an app needs of the disk.
extension SimulatedDisk {
  /// An empty disk, which has the directory `/`.
  /// - Parameter seed: of what is lost at a power cut; the same seed loses the same.
  public init(seed: UInt64 = 1) {
    let machine = SimulatedMachine(seed: seed)
    machine.put("/", onDevice: 1)
    self = machine.startProcess()
  }

  /// The bytes of a file; nil when there is none.
  public func contents(of path: String) -> [UInt8]? {
    let (directory, name) = Self.parts(of: path)
    return machine.contents(of: name, in: directory)
  }

  /// The names of the files in a directory, sorted; part files and journals are among them.
  public func names(in directory: String) -> [String] {
    machine.names(in: Self.normal(directory))
  }

  /// Makes a directory.
  public func makeDirectory(_ path: String) { machine.put(Self.normal(path), onDevice: 1) }

  /// Puts a file there, as another program would; it is durable.
  public func put(_ bytes: [UInt8], at path: String) {
    let (directory, name) = Self.parts(of: path)
    machine.plant(bytes, as: name, in: directory)
  }

  /// Lets all files together have so many bytes; as many as they like for nil.
  public func setCapacity(_ bytes: Int?) { machine.setCapacity(bytes) }

  /// Cuts the power: of what was not synced some is lost. Every call of a manager that still uses
  /// this disk fails from then on.
  /// - Returns: the disk as the next boot finds it, for the next manager.
  public func losingPower() -> SimulatedDisk {
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
