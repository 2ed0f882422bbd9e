/// Names of functions. The dynamic symbols know what a library exports; a program's own functions
/// are in its file's symbol table, unless that was stripped.
#include <ray/detail/base/function_name.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace ray::detail {
namespace {

template <typename Element>
std::vector<Element> read_table(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Element> table(static_cast<std::size_t>(bytes / sizeof(Element)));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(table.data()),
            static_cast<std::streamsize>(table.size() * sizeof(Element)));
  if (!file) table.clear();
  return table;
}

/// The function of an ELF file that begins at `address`, `base` being where the file is loaded.
std::string find_in_file(const std::string& path, std::uintptr_t base, std::uintptr_t address) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!file || header.e_shentsize != sizeof(ElfW(Shdr))) return {};
  const std::uintptr_t value = header.e_type == ET_DYN ? address - base : address;
  const auto sections = read_table<ElfW(Shdr)>(file, header.e_shoff,
                                               std::uint64_t{header.e_shnum} * sizeof(ElfW(Shdr)));
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    for (const auto& symbol : read_table<ElfW(Sym)>(file, section.sh_offset, section.sh_size)) {
      if (symbol.st_value != value || (symbol.st_info & 0xf) != STT_FUNC) continue;
      file.seekg(static_cast<std::streamoff>(sections[section.sh_link].sh_offset + symbol.st_name));
      std::string name;
      std::getline(file, name, '\0');
      return name;
    }
  }
  return {};
}

/// "price(double, int) const" is "price".
std::string without_parameters(const std::string& text) {
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos) return text;
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return text.substr(0, at);
  }
  return text;
}

std::string readable(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) return mangled;
  std::string text = demangled.get();
  const std::string hidden = "(anonymous namespace)::";
  for (auto at = text.find(hidden); at != std::string::npos; at = text.find(hidden)) {
    text.erase(at, hidden.size());
  }
  return without_parameters(text);
}

std::string look_up(const void* address) {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0) return {};
  if (info.dli_sname != nullptr && info.dli_saddr == address) return readable(info.dli_sname);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string name = find_in_file(info.dli_fname, base, at);
  // The program itself may have been started by a relative path, from elsewhere.
  if (name.empty()) name = find_in_file("/proc/self/exe", base, at);
  return name.empty() ? name : readable(name.c_str());
}

}  // namespace

std::string symbol_name(const void* address) {
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::string>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(address);
  if (found != known.end()) return found->second;
  return known.emplace(address, look_up(address)).first->second;
}

}  // namespace ray::detail
