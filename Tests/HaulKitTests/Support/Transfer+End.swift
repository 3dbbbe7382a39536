import HaulCore
import HaulKit

extension Transfer {
  /// How it ended.
  var end: Result<TransferResult, TransferError> {
    get async {
      do throws(TransferError) {
        return .success(try await result)
      } catch {
        return .failure(error)
      }
    }
  }
}
