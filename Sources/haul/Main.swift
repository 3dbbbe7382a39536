import HaulCLI
import HaulControl
import HaulDaemon
import HaulKit
import HaulLibC
import Logging

@main
@MainActor
enum Main {
  static func main() async {
    let status = await HaulProgram.run(ProcessText.argumentBytes, stored: StoredList()) {
      location, settings, readSettings, environment, logger in
      try await Daemon(
        at: location, settings, readSettings: readSettings, environment: environment,
        version: HaulVersion.text, logger: logger
      ).run()
    }
    Signals.exit(with: status)
  }
}
